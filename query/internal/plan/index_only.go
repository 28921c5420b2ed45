package plan

import (
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Some queries can be answered by an index alone. An entry of a range index holds the value of a document at
// a path, unless the term stands for several values (see ExactTerm). A query that uses nothing else needs
// only these entries. If an entry is not exact, its document is read, so results are the same for texts of
// any length. An entry may belong to a dead document. Sources can list these (see source.DeadDocumentLister);
// if one cannot, the documents are read as usual.

// indexOnlyPlan describes what can be computed from index entries alone.
type indexOnlyPlan struct {
	Kind       indexOnlyKind
	Constraint *Constraint             // of the conditions, if they are about one path; nil: no conditions
	Path       index.Path              // of GROUP BY
	Args       []IndexOnlyAggregateArg // of the aggregates
}

// indexOnlyKind says which kind of result a query computes from index entries without reading documents.
type indexOnlyKind uint8

const (
	CountAll    indexOnlyKind = iota + 1 // each aggregate counts all documents
	CountWanted                          // each aggregate counts the documents that match the conditions
	OfValues                             // aggregates over the values at paths
	ofGroups                             // GROUP BY one path, with aggregates over that path
)

// IndexOnlyAggregateArg is the argument of an aggregate: a path, or a value that every document has.
type IndexOnlyAggregateArg struct {
	Path   index.Path     // nil: every document
	Bounds []KeySpan      // the values at the path that count
	Value  eval.ValueFunc // compiled, with path
}

// findIndexOnly is the rule "index-only": it decides whether the aggregates can be computed without
// documents.
func findIndexOnly(p *Planner) { p.Plan.IndexOnly = p.indexOnly() }

func (p *Planner) indexOnly() *indexOnlyPlan {
	t := p.Plan.Top
	if !t.Grouped || len(t.Steps) != 1 || t.Steps[0].Kind != bind.StepItem || len(t.GroupBy) > 1 ||
		!p.decided(t) || t.FirstRID != nil {
		return nil
	}
	o := &indexOnlyPlan{}
	counts := true
	for _, a := range t.Aggs {
		arg, ok := p.onlyArg(a)
		if !ok {
			return nil
		}
		counts = counts && arg.Path == nil
		o.Args = append(o.Args, arg)
	}
	constraints := p.Plan.Constraints
	if len(constraints) == 1 {
		o.Constraint = constraints[0]
	}
	if len(t.GroupBy) == 1 {
		return p.onlyGroups(o, t.GroupBy[0])
	}
	switch {
	case len(t.Aggs) == 0:
		return nil
	case counts && len(constraints) == 0:
		o.Kind = CountAll
	case counts:
		o.Kind = CountWanted
	case len(constraints) > 1, o.Constraint != nil && !o.about(o.Constraint.name):
		return nil
	default:
		o.Kind = OfValues
	}
	p.noteArgs(o)
	return o
}

// onlyGroups makes o compute the groups of a GROUP BY of one path from the path's index alone, and returns
// o. It returns nil if that is not possible.
func (p *Planner) onlyGroups(o *indexOnlyPlan, key syntax.Expr) *indexOnlyPlan {
	route, plain := p.plainPath(key)
	if !plain || !p.Info.Index.RangeIndexed(route) || !o.about(route.String()) ||
		len(p.Plan.Constraints) > 1 ||
		o.Constraint != nil && o.Constraint.name != route.String() {
		return nil
	}
	o.Kind, o.Path = ofGroups, route
	p.noteArgs(o)
	p.noteUsed(route.String())
	return o
}

// decided reports whether the entries of indexes alone decide all WHERE conditions: each of them is about
// a single path, so that it can be tested on the path's index terms.
func (p *Planner) decided(t *bind.QueryBlock) bool {
	if len(t.Where) > 0 && len(p.Plan.Constraints) == 0 || p.Plan.loose {
		return false
	}
	return !slices.ContainsFunc(p.Plan.Constraints, func(l *Constraint) bool {
		return l.undefined || l.Superset && l.Test == nil
	})
}

// onlyArg returns the path whose range index has all values that an aggregate needs, so that no document
// need be read: that of its argument, or none for a COUNT of all items. ok is false if there is no such
// index.
func (p *Planner) onlyArg(a bind.AggregateCall) (arg IndexOnlyAggregateArg, ok bool) {
	if a.Name == "COUNT" && p.everywhere(a.Arg) {
		return IndexOnlyAggregateArg{}, true
	}
	switch a.Name {
	case "COUNT", "MIN", "MAX":
	case "SUM", "AVG": // these are computed from one entry and the number of entries of the group
		if len(p.Plan.Top.GroupBy) > 0 {
			return IndexOnlyAggregateArg{}, false
		}
	default:
		return IndexOnlyAggregateArg{}, false
	}
	route, plain := p.plainPath(a.Arg)
	if !plain || !p.Info.Index.RangeIndexed(route) {
		return IndexOnlyAggregateArg{}, false
	}
	return IndexOnlyAggregateArg{Path: route}, true
}

// plainPath returns the path that an expression consists of. ok is false if it is something else, or if
// documents do not store the value in the form that queries return.
func (p *Planner) plainPath(e syntax.Expr) (index.Path, bool) {
	if _, plain := p.plainRoute(e); !plain {
		return nil, false
	}
	route, entered, ok := p.ItemRoute(e)
	return route, ok && !entered
}

// everywhere reports whether an expression has a value for every item. Only a literal and the item itself
// certainly have one.
func (p *Planner) everywhere(e syntax.Expr) bool {
	if l, ok := e.(*syntax.Literal); ok {
		return l.Value.Kind() != jsondoc.Undefined
	}
	id, ok := e.(*syntax.Ident)
	return ok && p.Idents[id] != nil && p.Idents[id].Item
}

// about reports whether the argument of every aggregate is the path with this name, or a value that every
// document has, as in COUNT(1).
func (o *indexOnlyPlan) about(name string) bool {
	return !slices.ContainsFunc(o.Args, func(a IndexOnlyAggregateArg) bool {
		return a.Path != nil && a.Path.String() != name
	})
}

func (p *Planner) noteArgs(o *indexOnlyPlan) {
	for i := range o.Args {
		if a := &o.Args[i]; a.Path != nil {
			p.noteUsed(a.Path.String())
			lo, hi := p.Info.Index.PathRange(a.Path)
			if a.Bounds = []KeySpan{{Lo: lo, Hi: hi}}; o.Constraint != nil {
				a.Bounds = o.Constraint.Spans
			}
		}
	}
}

func (o *indexOnlyPlan) String() string {
	switch o.Kind {
	case CountAll:
		return "count of the documents, without reading them"
	case CountWanted:
		return "count of the index entries"
	case ofGroups:
		return "groups of the terms of " + o.Path.String()
	}
	var paths []string
	for _, a := range o.Args {
		if a.Path != nil && !slices.Contains(paths, a.Path.String()) {
			paths = append(paths, a.Path.String())
		}
	}
	text := "terms of"
	for i, path := range paths {
		text += []string{" ", ", "}[min(i, 1)] + path
	}
	return text
}
