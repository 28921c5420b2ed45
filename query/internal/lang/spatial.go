package lang

import (
	"bytes"
	"errors"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func spatialBuiltins() []Builtin {
	return []Builtin{
		{Name: "ST_DISTANCE", Min: 2, Max: 2,
			Fn: relate(func(a, b *index.Geometry) jsondoc.Value { return jsondoc.NumberValue(a.Distance(b)) })},
		{Name: "ST_WITHIN", Min: 2, Max: 2,
			Fn: relate(func(a, b *index.Geometry) jsondoc.Value { return jsondoc.BoolValue(a.Within(b)) })},
		{Name: "ST_INTERSECTS", Min: 2, Max: 2,
			Fn: relate(func(a, b *index.Geometry) jsondoc.Value { return jsondoc.BoolValue(a.Intersects(b)) })},
		{Name: "ST_AREA", Min: 1, Max: 1, Fn: fnArea},
		{Name: "ST_ISVALID", Min: 1, Max: 1, Fn: fnIsValid},
		{Name: "ST_ISVALIDDETAILED", Min: 1, Max: 1, Fn: fnIsValidDetailed},
	}
}

// LastGeometryCache holds the last geometry of an argument. In most queries one of the two arguments is the
// same for every row, and parsing a polygon takes longer than comparing it with a point.
type LastGeometryCache struct {
	text  []byte
	shape *index.Geometry
}

// geometry parses the argument v of a call as a geometry, on the globe or in the plane as the container has
// it. It returns nil if v is invalid. slot is the position of the argument; its last geometry is cached.
func (c *CallContext) geometry(slot int, v jsondoc.Value) *index.Geometry {
	if v.Kind() != jsondoc.Object {
		return nil
	}
	last, text := &c.Shapes[slot], v.Raw()
	if last.shape == nil || !bytes.Equal(last.text, text) {
		last.shape, _ = index.ParseGeometryFor(v, c.Planar, c.Spend)
		last.text = append(last.text[:0], text...)
	}
	return last.shape
}

// relate returns the implementation of a function of the query language that applies f to its two
// arguments. Its value is undefined unless both are geometries.
func relate(f func(a, b *index.Geometry) jsondoc.Value) func(*CallContext, []jsondoc.Value) jsondoc.Value {
	return func(c *CallContext, args []jsondoc.Value) jsondoc.Value {
		a := c.geometry(0, args[0])
		if a == nil {
			return Undefined
		}
		b := c.geometry(1, args[1])
		if b == nil {
			return Undefined
		}
		return f(a, b)
	}
}

func fnArea(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	g := c.geometry(0, args[0])
	if g == nil {
		return Undefined
	}
	return jsondoc.NumberValue(g.Area())
}

// fnIsValid implements ST_ISVALID. It returns false also for a value that is not a geometry.
func fnIsValid(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	return jsondoc.BoolValue(c.geometry(0, args[0]) != nil)
}

// fnIsValidDetailed implements ST_ISVALIDDETAILED. It returns an object that says whether the argument is a
// valid geometry, and if it is not, the reason.
func fnIsValidDetailed(c *CallContext, args []jsondoc.Value) jsondoc.Value {
	_, err := index.ParseGeometryFor(args[0], c.Planar, c.Spend)
	var invalid *index.GeometryError
	if !errors.As(err, &invalid) {
		return jsondoc.Of([]byte(`{"valid":true}`))
	}
	return jsondoc.Of(append(jsondoc.AppendString([]byte(`{"valid":false,"reason":`), invalid.Reason), '}'))
}
