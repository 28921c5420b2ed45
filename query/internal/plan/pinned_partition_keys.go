package plan

import (
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/syntax"
)

// PinnedPartitionKeys holds the partition keys that the conditions of a query allow.
type PinnedPartitionKeys struct {
	Known bool
	Keys  [][]jsondoc.Value // full keys, or prefixes of keys; empty: the query has no rows
}

// maxPins is the maximum number of partition keys to which a query is restricted. With more keys it is not
// restricted.
const maxPins = 1000

// PinnedKeys returns the partition keys that the conditions allow. They are full keys or, for a hierarchical
// partition key, also prefixes of keys. The values are those in the conditions. The list is empty if the
// query reads no rows, because it has no FROM or because its conditions contradict each other. ok is false
// if the conditions do not restrict the keys.
func (p *Plan) PinnedKeys() (keys [][]jsondoc.Value, ok bool) { return p.Pins.Keys, p.Pins.Known }

// pinKeys is the rule "pin": it finds the partition keys that the conditions allow.
func pinKeys(p *Planner) {
	if p.Plan.Never || !p.Plan.Top.Container {
		p.Plan.Pins = PinnedPartitionKeys{Known: true}
		return
	}
	var levels [][]jsondoc.Value
	for _, path := range p.Info.PartitionPaths {
		values, ok := p.pinned(path.String())
		if !ok {
			break
		}
		levels = append(levels, values)
	}
	if len(levels) == 0 {
		return
	}
	p.Plan.Pins.Known = true
	keys := [][]jsondoc.Value{nil}
	for _, values := range levels {
		var longer [][]jsondoc.Value
		for _, key := range keys {
			for _, v := range values {
				longer = append(longer, append(slices.Clip(key), v))
			}
		}
		if keys = longer; len(keys) > maxPins {
			p.Plan.Pins = PinnedPartitionKeys{}
			return
		}
	}
	p.Plan.Pins.Keys = keys
}

// pinned returns the values that the conditions allow for a path.
func (p *Planner) pinned(path string) (values []jsondoc.Value, ok bool) {
	for _, e := range p.Plan.Top.Where {
		some, pinned := p.pinnedBy(e, path)
		switch {
		case !pinned:
		case !ok:
			values, ok = some, true
		default:
			values = slices.DeleteFunc(values, func(v jsondoc.Value) bool {
				return !slices.ContainsFunc(some, func(w jsondoc.Value) bool { return jsondoc.Equal(v, w) })
			})
		}
	}
	return values, ok
}

// pinnedBy returns the values that one condition allows for a path. ok is false if it does not restrict
// them.
func (p *Planner) pinnedBy(e syntax.Expr, path string) ([]jsondoc.Value, bool) {
	switch e := e.(type) {
	case *syntax.Binary:
		if e.Op != syntax.Eq {
			return nil, false
		}
		if v, ok := p.ConstOf(e.Y); ok && p.isPath(e.X, path) {
			return defined(v), true
		} else if v, ok := p.ConstOf(e.X); ok && p.isPath(e.Y, path) {
			return defined(v), true
		}
	case *syntax.InExpr:
		if e.Not || len(e.List) > maxPins || !p.isPath(e.X, path) {
			return nil, false
		}
		list, ok := p.Constants(e.List)
		if !ok {
			return nil, false
		}
		var values []jsondoc.Value
		for _, v := range list {
			values = union(values, defined(v))
		}
		return values, true
	case *syntax.Logical:
		var values []jsondoc.Value
		for _, term := range e.Terms {
			some, ok := p.pinnedBy(term, path)
			if e.Op == syntax.And && ok {
				return some, true
			} else if e.Op == syntax.Or && !ok {
				return nil, false
			}
			if values = union(values, some); len(values) > maxPins {
				return nil, false
			}
		}
		return values, e.Op == syntax.Or
	case *syntax.Unary:
		return []jsondoc.Value{jsondoc.BoolValue(false)}, e.Op == syntax.Not && p.isPath(e.X, path)
	}
	return []jsondoc.Value{jsondoc.BoolValue(true)}, p.isPath(e, path)
}

// defined returns the values that can be equal to v: v itself, or none if v is undefined.
func defined(v jsondoc.Value) []jsondoc.Value {
	if v.Kind() == jsondoc.Undefined {
		return nil
	}
	return []jsondoc.Value{v}
}

func union(a, b []jsondoc.Value) []jsondoc.Value {
	for _, v := range b {
		if !slices.ContainsFunc(a, func(w jsondoc.Value) bool { return jsondoc.Equal(v, w) }) {
			a = append(a, v)
		}
	}
	return a
}

// isPath reports whether an expression is the value at the given path of the item.
func (p *Planner) isPath(e syntax.Expr, path string) bool {
	route, entered, ok := p.ItemRoute(e)
	return ok && !entered && route.String() == path
}
