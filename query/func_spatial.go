package query

import (
	"bytes"
	"errors"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
)

func spatialBuiltins() []builtin {
	return []builtin{
		{name: "ST_DISTANCE", min: 2, max: 2,
			fn: relate(func(a, b *index.Geometry) doc.Value { return doc.NumberValue(a.Distance(b)) })},
		{name: "ST_WITHIN", min: 2, max: 2,
			fn: relate(func(a, b *index.Geometry) doc.Value { return doc.BoolValue(a.Within(b)) })},
		{name: "ST_INTERSECTS", min: 2, max: 2,
			fn: relate(func(a, b *index.Geometry) doc.Value { return doc.BoolValue(a.Intersects(b)) })},
		{name: "ST_AREA", min: 1, max: 1, fn: fnArea},
		{name: "ST_ISVALID", min: 1, max: 1, fn: fnIsValid},
		{name: "ST_ISVALIDDETAILED", min: 1, max: 1, fn: fnIsValidDetailed},
	}
}

// shapeCache keeps the geometry that an argument had last. In most queries one of two arguments is the same
// for every row, and a polygon takes longer to read than to compare with a point.
type shapeCache struct {
	text  []byte
	shape *index.Geometry
}

// geometry reads an argument as a geometry of the container's space; nil where it is none.
func (c *call) geometry(slot int, v doc.Value) *index.Geometry {
	if v.Kind() != doc.Object {
		return nil
	}
	last, text := &c.shapes[slot], v.Raw()
	if last.shape == nil || !bytes.Equal(last.text, text) {
		last.shape, _ = index.ParseGeometryFor(v, c.planar, c.spend)
		last.text = append(last.text[:0], text...)
	}
	return last.shape
}

// relate makes a function of two geometries.
func relate(f func(a, b *index.Geometry) doc.Value) func(*call, []doc.Value) doc.Value {
	return func(c *call, args []doc.Value) doc.Value {
		a := c.geometry(0, args[0])
		if a == nil {
			return undefined
		}
		b := c.geometry(1, args[1])
		if b == nil {
			return undefined
		}
		return f(a, b)
	}
}

func fnArea(c *call, args []doc.Value) doc.Value {
	g := c.geometry(0, args[0])
	if g == nil {
		return undefined
	}
	return doc.NumberValue(g.Area())
}

// fnIsValid is false, too, for what is not meant to be a geometry.
func fnIsValid(c *call, args []doc.Value) doc.Value {
	return doc.BoolValue(c.geometry(0, args[0]) != nil)
}

// fnIsValidDetailed tells the reason as well.
func fnIsValidDetailed(c *call, args []doc.Value) doc.Value {
	_, err := index.ParseGeometryFor(args[0], c.planar, c.spend)
	var invalid *index.GeometryError
	if !errors.As(err, &invalid) {
		return doc.Of([]byte(`{"valid":true}`))
	}
	return doc.Of(append(doc.AppendString([]byte(`{"valid":false,"reason":`), invalid.Reason), '}'))
}
