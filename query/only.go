package query

import (
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Some queries can be answered by an index alone. An entry of a range index says of a document what value it
// has at a path, unless the term stands for several (see exactTerm); what is wanted of a query that asks for
// nothing else is all there. Of entries that are not exact the documents are read, one by one, so no answer
// depends on how long a text is. An entry may be that of a document that is dead: sources say which are (see
// Census), or the documents are read as ever.

// indexOnly says what can be made of index entries alone.
type indexOnly struct {
	kind onlyKind
	leaf *leaf      // what the conditions say, if they are about one path; nil: there are none
	path index.Path // of GROUP BY
	args []onlyArg  // of the aggregates
}

type onlyKind uint8

const (
	countAll    onlyKind = iota + 1 // all aggregates count what every item has: all documents
	countWanted                     // the same, of those that fulfil conditions
	ofValues                        // aggregates of the values at paths
	ofGroups                        // GROUP BY one path, with aggregates of that path
)

// onlyArg is what an aggregate is about: a path, or what every document has.
type onlyArg struct {
	path   index.Path // nil: every document
	bounds []span     // the values at the path that count
	value  valuer     // compiled, with path
}

// findIndexOnly is the rule "index-only": it tells whether the documents are needed for the aggregates.
func findIndexOnly(p *planner) { p.plan.only = p.indexOnly() }

func (p *planner) indexOnly() *indexOnly {
	t := p.plan.top
	if !t.grouped || len(t.steps) != 1 || t.steps[0].kind != stepItem || len(t.groupBy) > 1 ||
		!p.decided(t) || t.carried != nil {
		return nil
	}
	o := &indexOnly{}
	counts := true
	for _, a := range t.aggs {
		arg, ok := p.onlyArg(a)
		if !ok {
			return nil
		}
		counts = counts && arg.path == nil
		o.args = append(o.args, arg)
	}
	leaves := p.plan.leaves
	if len(leaves) == 1 {
		o.leaf = leaves[0]
	}
	if len(t.groupBy) == 1 {
		return p.onlyGroups(o, t.groupBy[0])
	}
	switch {
	case len(t.aggs) == 0:
		return nil
	case counts && len(leaves) == 0:
		o.kind = countAll
	case counts:
		o.kind = countWanted
	case len(leaves) > 1, o.leaf != nil && !o.about(o.leaf.name):
		return nil
	default:
		o.kind = ofValues
	}
	p.noteArgs(o)
	return o
}

// onlyGroups completes what is said of GROUP BY one path.
func (p *planner) onlyGroups(o *indexOnly, key syntax.Expr) *indexOnly {
	route, plain := p.plainPath(key)
	if !plain || !p.info.Index.RangeIndexed(route) || !o.about(route.String()) || len(p.plan.leaves) > 1 ||
		o.leaf != nil && o.leaf.name != route.String() {
		return nil
	}
	o.kind, o.path = ofGroups, route
	p.noteArgs(o)
	p.noteUsed(route.String())
	return o
}

// decided tells whether the conditions are about single paths, so that terms decide them.
func (p *planner) decided(t *block) bool {
	if len(t.where) > 0 && len(p.plan.leaves) == 0 || p.plan.loose {
		return false
	}
	return !slices.ContainsFunc(p.plan.leaves, func(l *leaf) bool {
		return l.undefined || l.loose && l.test == nil
	})
}

// onlyArg is what an aggregate is about, if an index has it.
func (p *planner) onlyArg(a aggCall) (arg onlyArg, ok bool) {
	if a.name == "COUNT" && p.everywhere(a.arg) {
		return onlyArg{}, true
	}
	switch a.name {
	case "COUNT", "MIN", "MAX":
	case "SUM", "AVG": // of a group there is one entry, and a count
		if len(p.plan.top.groupBy) > 0 {
			return onlyArg{}, false
		}
	default:
		return onlyArg{}, false
	}
	route, plain := p.plainPath(a.arg)
	if !plain || !p.info.Index.RangeIndexed(route) {
		return onlyArg{}, false
	}
	return onlyArg{path: route}, true
}

// plainPath is the path that an expression is, if documents hold what is there as it is.
func (p *planner) plainPath(e syntax.Expr) (index.Path, bool) {
	if _, plain := p.plainRoute(e); !plain {
		return nil, false
	}
	route, entered, ok := p.itemRoute(e)
	return route, ok && !entered
}

// everywhere tells of an expression that it is defined for every item.
func (p *planner) everywhere(e syntax.Expr) bool {
	if l, ok := e.(*syntax.Literal); ok {
		return l.Value.Kind() != doc.Undefined
	}
	id, ok := e.(*syntax.Ident)
	return ok && p.idents[id] != nil && p.idents[id].item
}

// about tells whether no aggregate is about another path.
func (o *indexOnly) about(name string) bool {
	return !slices.ContainsFunc(o.args, func(a onlyArg) bool {
		return a.path != nil && a.path.String() != name
	})
}

func (p *planner) noteArgs(o *indexOnly) {
	for i := range o.args {
		if a := &o.args[i]; a.path != nil {
			p.noteUsed(a.path.String())
			lo, hi := p.info.Index.PathRange(a.path)
			if a.bounds = []span{{lo: lo, hi: hi}}; o.leaf != nil {
				a.bounds = o.leaf.spans
			}
		}
	}
}

func (o *indexOnly) String() string {
	switch o.kind {
	case countAll:
		return "count of the documents, without reading them"
	case countWanted:
		return "count of the index entries"
	case ofGroups:
		return "groups of the terms of " + o.path.String()
	}
	var paths []string
	for _, a := range o.args {
		if a.path != nil && !slices.Contains(paths, a.path.String()) {
			paths = append(paths, a.path.String())
		}
	}
	text := "terms of"
	for i, path := range paths {
		text += []string{" ", ", "}[min(i, 1)] + path
	}
	return text
}
