package plan

import (
	"math"
	"strconv"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// special returns the access to the documents for which a call of a spatial function, a full-text
// function, ARRAY_CONTAINS_ANY or ARRAY_CONTAINS_ALL can be true. It returns nil for other calls, and if
// no index can be used.
func (p *Planner) special(c *syntax.Call) IndexAccess {
	fn, ok := lang.Lookup(c.Name)
	if c.UDF || !ok {
		return nil
	}
	switch fn.Name {
	case "ST_WITHIN", "ST_INTERSECTS":
		return p.near(c, 0) // a geometry that is inside another one also intersects it
	case "FULLTEXTCONTAINS", "FULLTEXTCONTAINSALL":
		return p.words(c, false)
	case "FULLTEXTCONTAINSANY":
		return p.words(c, true)
	case "ARRAY_CONTAINS_ANY":
		return p.containsEach(c, true)
	case "ARRAY_CONTAINS_ALL":
		return p.containsEach(c, false)
	}
	return nil
}

// containsEach returns the index access that finds the documents whose array at a path contains at least
// one of some constants if any is set, and otherwise all of them.
func (p *Planner) containsEach(c *syntax.Call, any bool) IndexAccess {
	var list []IndexAccess
	for _, arg := range c.Args[1:] {
		var found IndexAccess
		if l, ok := arg.(*syntax.Literal); ok {
			if at := p.contains(&syntax.Call{Args: c.Args[:1]}, l.Value); at != nil {
				p.noteUsed(at.name)
				found = at.access()
			}
		}
		if found != nil {
			list = append(list, found)
		} else if any {
			return nil
		}
	}
	return combine(list, any)
}

// combine returns the union of a list of accesses if any is set, else their intersection.
func combine(list []IndexAccess, any bool) IndexAccess {
	switch {
	case len(list) == 0:
		return nil
	case len(list) == 1:
		return list[0]
	case any:
		return &UnionAccess{list}
	}
	return &IntersectionAccess{list}
}

// within returns the index access that finds the documents for which ST_DISTANCE(path, geometry) < d. It
// returns nil if no index does or if e has another form.
func (p *Planner) within(e *syntax.Binary) IndexAccess {
	x, y, op := e.X, e.Y, e.Op
	if _, ok := p.ConstOf(x); ok {
		x, y, op = y, x, mirrored(op)
	}
	c, isCall := x.(*syntax.Call)
	d, constant := p.ConstOf(y)
	if !isCall || c.UDF || !constant || d.Kind() != jsondoc.Number || op != syntax.Lt && op != syntax.Le &&
		op != syntax.Eq {
		return nil
	}
	distance := d.Num()
	if fn, ok := lang.Lookup(c.Name); !ok || fn.Name != "ST_DISTANCE" || !(distance >= 0) ||
		math.IsInf(distance, 0) {
		return nil
	}
	return p.near(c, distance)
}

// near returns the index access that finds the documents whose geometry at a path is at most distance away
// from a constant geometry.
func (p *Planner) near(c *syntax.Call, distance float64) IndexAccess {
	for i := range 2 {
		l, constant := c.Args[1-i].(*syntax.Literal)
		route, entered, ok := p.ItemRoute(c.Args[i])
		if !constant || !ok || entered {
			continue
		}
		box, indexed := p.Info.Index.Spatial(route)
		g, err := index.ParseGeometry(l.Value, p.Info.Geometry)
		if !indexed || err != nil {
			continue
		}
		a := &SpansAccess{text: route.String() + " meets a geometry"}
		if distance > 0 {
			a.text = route.String() + " within " + strconv.FormatFloat(distance, 'g', -1, 64) +
				" of a geometry"
		}
		for _, r := range g.QueryCells(box, distance) {
			lo, hi := p.Info.Index.SpatialRange(route, r)
			a.Spans = append(a.Spans, KeySpan{Lo: lo, Hi: hi})
		}
		return a
	}
	return nil
}

// words returns the access for documents whose text at a path contains any, or all, of some terms.
func (p *Planner) words(c *syntax.Call, any bool) IndexAccess {
	path, ok := p.textPath(c.Args[0])
	if !ok {
		return nil
	}
	var list []IndexAccess
	for _, arg := range c.Args[1:] {
		var found IndexAccess
		if l, ok := arg.(*syntax.Literal); ok {
			if term, ok := lang.CompileTerm(l.Value, p.Info.Index.Language(path)); ok {
				found = p.term(path, &term)
			}
		}
		if found != nil {
			list = append(list, found)
		} else if any {
			return nil
		}
	}
	return combine(list, any)
}

// term returns the access for documents that contain all words of a term, for a phrase in any order. It
// returns nil if the index cannot find them, as for a fuzzy term.
func (p *Planner) term(path index.Path, term *lang.TextTerm) IndexAccess {
	if term.Distance > 0 || len(term.Words) == 0 {
		return nil
	}
	all := &IntersectionAccess{}
	for _, word := range term.Words {
		all.List = append(all.List, &IndexKeysAccess{[][]byte{p.Info.Index.TextKey(path, word.Term)},
			path.String() + " has " + clip(jsondoc.StringValue(word.Term))})
	}
	if len(all.List) == 1 {
		return all.List[0]
	}
	return all
}
