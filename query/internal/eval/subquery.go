package eval

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// subquery compiles a subquery used as a value: (SELECT ...) has the value of its only row, ARRAY(SELECT
// ...) is the array of all rows.
func (c *Compiler) subquery(e *syntax.Subquery) ValueFunc {
	rs := c.Rowset(c.Subs[e.Query])
	if e.Kind == syntax.Array {
		return func(f *Frame) jsondoc.Value {
			dst := []byte{'['}
			rs.values(f, func(v jsondoc.Value) bool {
				dst = lang.AppendElement(dst, v)
				return f.Run.Spend(v.TextLen()) && f.Run.Fits(dst)
			})
			return jsondoc.Of(append(dst, ']'))
		}
	}
	at := e.TextSpan
	text := c.Text
	return func(f *Frame) jsondoc.Value {
		var only jsondoc.Value
		n := 0
		rs.values(f, func(v jsondoc.Value) bool {
			only = v
			n++
			return n < 2
		})
		if n > 1 {
			err := queryerror.Plain("The cardinality of a scalar subquery result set cannot be greater than one.")
			err.Start, err.End = at.Start, at.End
			err.Place(text)
			f.Run.Fail(err)
			return lang.Undefined
		}
		return only
	}
}

// exists compiles EXISTS(SELECT ...), which stops at the first row.
func (c *Compiler) exists(e *syntax.Subquery) TruthFunc {
	rs := c.Rowset(c.Subs[e.Query])
	return func(f *Frame) Truth {
		found := no
		rs.values(f, func(jsondoc.Value) bool {
			found = Yes
			return false
		})
		return found
	}
}
