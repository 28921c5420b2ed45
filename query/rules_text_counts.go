package query

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// textCounts says of the aggregates of a query what the index of words has: the query of a client that merges
// counts documents, the words of their texts and the texts with each term.
type textCounts struct{ args []textCount }

// textCount is what an aggregate is about.
type textCount struct {
	kind countKind
	r    ranker // the text, and the term
	x    syntax.Expr
}

// findTextCounts is the rule "text-counts".
func findTextCounts(p *planner) {
	t := p.plan.top
	if !t.grouped || len(t.groupBy) > 0 || len(t.steps) != 1 || t.steps[0].kind != stepItem || len(t.where) > 0 ||
		t.carried != nil || p.plan.only != nil {
		return
	}
	counts := &textCounts{}
	for _, a := range t.aggs {
		one, ok := p.textCount(a)
		if !ok {
			return
		}
		counts.args = append(counts.args, one)
	}
	if slices.ContainsFunc(counts.args, func(c textCount) bool { return c.kind != countDocuments }) {
		p.plan.counts = counts
	}
}

// textCount is what an aggregate is about, if an index of words has it.
func (p *planner) textCount(a aggCall) (one textCount, ok bool) {
	if a.name == "COUNT" {
		return one, p.everywhere(a.arg)
	}
	c, isCall := a.arg.(*syntax.Call)
	if !isCall || c.UDF {
		return one, false
	}
	f, known := lang.LookupBuiltin(c.Name)
	path, indexed := p.textPath(c.Args[0])
	if !known || !indexed {
		return one, false
	}
	one.x, one.r.path, one.r.spoken = c.Args[0], path, p.info.Index.Language(path)
	if a.name == "SUM" && f.Name == "_FULLTEXTWORDCOUNT" {
		one.kind = countWords
		return one, true
	}
	if a.name != "COUNTIF" || f.Name != "FULLTEXTCONTAINS" {
		return one, false
	}
	l, constant := c.Args[1].(*syntax.Literal)
	if !constant {
		return one, false
	}
	term, valid := lang.CompileTerm(l.Value, one.r.spoken)
	one.kind, one.r.terms = countTexts, []lang.TextTerm{term}
	return one, valid
}

func (t *textCounts) compile(c *compiler) {
	for i := range t.args {
		if a := &t.args[i]; a.kind != countDocuments {
			a.r.text = c.value(a.x)
		}
	}
}

func (t *textCounts) String() string {
	var paths []string
	for _, a := range t.args {
		if name := a.r.path.String(); a.kind != countDocuments && !slices.Contains(paths, name) {
			paths = append(paths, name)
		}
	}
	return "words of " + strings.Join(paths, ", ")
}

type countKind uint8

const (
	countDocuments countKind = iota // COUNT of what every document has
	countWords                      // SUM(_FullTextWordCount(path))
	countTexts                      // COUNTIF(FullTextContains(path, term))
)
