package query

import (
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// subquery compiles a subquery that stands for a value: the only row of (SELECT ...), all rows of
// ARRAY(SELECT ...).
func (c *compiler) subquery(e *syntax.Subquery) valuer {
	rs := c.rowset(c.subs[e.Query])
	if e.Kind == syntax.Array {
		return func(f *frame) doc.Value {
			dst := []byte{'['}
			rs.values(f, func(v doc.Value) bool {
				dst = lang.AppendElement(dst, v)
				return f.run.Spend(v.TextLen()) && f.run.Fits(dst)
			})
			return doc.Of(append(dst, ']'))
		}
	}
	at := e.Span
	text := c.text
	return func(f *frame) doc.Value {
		var only doc.Value
		n := 0
		rs.values(f, func(v doc.Value) bool {
			only = v
			n++
			return n < 2
		})
		if n > 1 {
			err := fault.Plain("The cardinality of a scalar subquery result set cannot be greater than one.")
			err.Start, err.End = at.Start, at.End
			err.Place(text)
			f.run.Fail(err)
			return lang.Undefined
		}
		return only
	}
}

// exists compiles EXISTS(SELECT ...), which looks no further than the first row.
func (c *compiler) exists(e *syntax.Subquery) decider {
	rs := c.rowset(c.subs[e.Query])
	return func(f *frame) truth {
		found := no
		rs.values(f, func(doc.Value) bool {
			found = yes
			return false
		})
		return found
	}
}
