package query

import (
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/syntax"
)

// countable is a Source that can tell how many live documents its scope has without reading them; false where it cannot.
type countable interface {
	Count() (n int64, ok bool, err error)
}

var _ = syntax.Print
var _ doc.Value

func (x *execution) shortcut(bl *block, rs *rowset) bool { return false }
