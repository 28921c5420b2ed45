package eval

import (
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/syntax"
)

// write compiles an expression to a function that appends the value as JSON text. The function appends
// nothing if the value is undefined.
func (c *Compiler) write(e syntax.Expr) jsonWriteFunc {
	if !c.isKey(e) {
		switch e := e.(type) {
		case *syntax.ObjectLiteral:
			items := make([]bind.SelectProperty, len(e.Keys))
			for i, key := range e.Keys {
				items[i] = bind.SelectProperty{Name: key, X: e.Values[i]}
			}
			return c.writeObject(items)
		case *syntax.ArrayLiteral:
			return c.writeArray(e)
		case *syntax.Literal:
			v := canonicalNumber(e.Value)
			return func(_ *Frame, dst []byte) ([]byte, bool) {
				return v.AppendJSON(dst),
					v.Kind() != jsondoc.Undefined
			}
		}
	}
	if c.isItem(e) {
		return writeItem
	}
	x := c.Value(e)
	return func(f *Frame, dst []byte) ([]byte, bool) {
		v := x(f)
		return v.AppendJSON(dst), v.Kind() != jsondoc.Undefined
	}
}

// isItem reports whether an expression is the current item. A GROUP BY key is not.
func (c *Compiler) isItem(e syntax.Expr) bool {
	id, ok := e.(*syntax.Ident)
	return ok && c.Idents[id] != nil && c.Idents[id].Item && !c.isKey(e)
}

// isKey reports whether an expression is a GROUP BY key.
func (c *Compiler) isKey(e syntax.Expr) bool {
	_, ok := c.Keys[e]
	return ok
}

// writeItem appends the text of the item without keeping a copy. The result is false if there is no item.
func writeItem(f *Frame, dst []byte) ([]byte, bool) {
	if f.Item == nil {
		return dst, false
	}
	return f.appendItem(dst), true
}

// outputMember is one written property: its JSON name with the colon, and its value.
type outputMember struct {
	name []byte
	x    jsonWriteFunc
}

// writeObject compiles an object. Undefined members are left out.
func (c *Compiler) writeObject(items []bind.SelectProperty) jsonWriteFunc {
	members := make([]outputMember, len(items))
	for i, item := range items {
		members[i] = outputMember{append(jsondoc.AppendString(nil, item.Name), ':'), c.write(item.X)}
	}
	return func(f *Frame, dst []byte) ([]byte, bool) {
		dst = append(dst, '{')
		first := true
		for i := range members {
			m := &members[i]
			before := len(dst)
			if !first {
				dst = append(dst, ',')
			}
			var defined bool
			if dst, defined = m.x(f, append(dst, m.name...)); !defined {
				dst = dst[:before]
			} else if first = false; !f.Run.Spend(len(dst)-before) || !f.Run.Fits(dst) {
				return dst[:before], false
			}
		}
		return append(dst, '}'), true
	}
}

// writeArray compiles an array. Undefined elements are left out.
func (c *Compiler) writeArray(e *syntax.ArrayLiteral) jsonWriteFunc {
	elems := make([]jsonWriteFunc, len(e.Elems))
	for i, x := range e.Elems {
		elems[i] = c.write(x)
	}
	return func(f *Frame, dst []byte) ([]byte, bool) {
		dst = append(dst, '[')
		first := true
		for _, x := range elems {
			before := len(dst)
			if !first {
				dst = append(dst, ',')
			}
			var defined bool
			if dst, defined = x(f, dst); !defined {
				dst = dst[:before]
			} else if first = false; !f.Run.Spend(len(dst)-before) || !f.Run.Fits(dst) {
				return dst[:before], false
			}
		}
		return append(dst, ']'), true
	}
}

// canonicalNumber returns a number literal in the form of a computed number: 1.0 becomes 1. Integers of 64
// bits keep all their digits.
func canonicalNumber(v jsondoc.Value) jsondoc.Value {
	if v.Kind() != jsondoc.Number {
		return v
	}
	if _, err := strconv.ParseInt(string(v.Raw()), 10, 64); err == nil {
		return v
	}
	return jsondoc.NumberValue(v.Num())
}
