package plan

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// textIndexAggregates lists the aggregates of a query that an index of words can compute. Such a query comes
// from a client that merges ranges: it counts documents, the words of their texts, and the texts that contain
// each term.
type textIndexAggregates struct{ Args []textIndexAggregate }

// textIndexAggregate is an aggregate whose result can be computed from the word counts in a full-text index,
// without reading documents. Kind says which count of the index it is.
type textIndexAggregate struct {
	Kind textIndexAggregateKind
	R    CompiledRankScore // the text, and the term
	x    syntax.Expr
}

// findTextCounts is the rule "text-counts": it decides whether an index of words can compute the aggregates.
func findTextCounts(p *Planner) {
	t := p.Plan.Top
	if !t.Grouped || len(t.GroupBy) > 0 || len(t.Steps) != 1 || t.Steps[0].Kind != bind.StepItem ||
		len(t.Where) > 0 ||
		t.FirstRID != nil || p.Plan.IndexOnly != nil {
		return
	}
	counts := &textIndexAggregates{}
	for _, a := range t.Aggs {
		one, ok := p.textCount(a)
		if !ok {
			return
		}
		counts.Args = append(counts.Args, one)
	}
	if slices.ContainsFunc(counts.Args, func(c textIndexAggregate) bool { return c.Kind != CountDocuments }) {
		p.Plan.Counts = counts
	}
}

// textCount returns what an index of words must count to compute an aggregate: documents, the words of their
// texts, or the texts with a term. ok is false if such an index cannot compute it.
func (p *Planner) textCount(a bind.AggregateCall) (one textIndexAggregate, ok bool) {
	if a.Name == "COUNT" {
		return one, p.everywhere(a.Arg)
	}
	c, isCall := a.Arg.(*syntax.Call)
	if !isCall || c.UDF {
		return one, false
	}
	f, known := lang.Lookup(c.Name)
	path, indexed := p.textPath(c.Args[0])
	if !known || !indexed {
		return one, false
	}
	one.x, one.R.Path, one.R.Spoken = c.Args[0], path, p.Info.Index.Language(path)
	if a.Name == "SUM" && f.Name == "_FULLTEXTWORDCOUNT" {
		one.Kind = CountWords
		return one, true
	}
	if a.Name != "COUNTIF" || f.Name != "FULLTEXTCONTAINS" {
		return one, false
	}
	l, constant := c.Args[1].(*syntax.Literal)
	if !constant {
		return one, false
	}
	term, valid := lang.CompileTerm(l.Value, one.R.Spoken)
	one.Kind, one.R.Terms = CountTexts, []lang.TextTerm{term}
	return one, valid
}

func (t *textIndexAggregates) compile(c *eval.Compiler) {
	for i := range t.Args {
		if a := &t.Args[i]; a.Kind != CountDocuments {
			a.R.Text = c.Value(a.x)
		}
	}
}

func (t *textIndexAggregates) String() string {
	var paths []string
	for _, a := range t.Args {
		if name := a.R.Path.String(); a.Kind != CountDocuments && !slices.Contains(paths, name) {
			paths = append(paths, name)
		}
	}
	return "words of " + strings.Join(paths, ", ")
}

// textIndexAggregateKind says whether a textIndexAggregate counts documents, words, or texts that contain a
// term.
type textIndexAggregateKind uint8

const (
	CountDocuments textIndexAggregateKind = iota // COUNT of a value that every document has
	CountWords                                   // SUM(_FullTextWordCount(path))
	CountTexts                                   // COUNTIF(FullTextContains(path, term))
)
