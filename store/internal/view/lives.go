package view

import (
	"math"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// A Basis is what the times to live of a container's items count from: a property of the document that holds
// seconds since 1970, or the _ts where a document has no number there. The zero Basis is the _ts.
type Basis struct {
	path jsondoc.Path
	set  bool
}

// NewBasis returns the Basis of a container's ttlPropertyPath; "" is the _ts.
func NewBasis(path string) (Basis, error) {
	if path == "" {
		return Basis{}, nil
	}
	p, err := jsondoc.ParsePath(path)
	return Basis{p, err == nil}, err
}

// MaxBase is the latest second that a Basis returns, the last of the year 9999, and -MaxBase the earliest. No
// clock comes so far, so that it makes no difference to an item how far beyond its second lies.
const MaxBase = 253_402_300_799

// Value returns what a document has in the property; jsondoc.Undefined for the _ts.
func (b *Basis) Value(body []byte) jsondoc.Value {
	if !b.set {
		return jsondoc.Value{}
	}
	return jsondoc.Get(body, b.path)
}

// IsSet reports whether the Basis is a property.
func (b *Basis) IsSet() bool { return b.set }

// Of returns the second from which the time to live of a document counts, or false where it counts from the
// _ts. A part of a second does not count, as in the _ts.
func (b *Basis) Of(body []byte) (second int64, ok bool) {
	v := b.Value(body)
	if v.Kind() != jsondoc.Number {
		return 0, false
	}
	return int64(math.Floor(min(max(v.Num(), -MaxBase), MaxBase))), true
}

// An Era is a ttl.Era with the Basis that followed it.
type Era struct {
	ttl.Era
	After Basis
}

// Lives tells the lives of a container's items as its policy judges them. It never changes.
type Lives struct {
	Basis Basis // of the items that are written now
	Eras  []Era // of which there may be items, from the oldest; none where all are of the present one
}

// Of returns the life of an item, which is that in its header unless the item is of an earlier era.
func (v *Lives) Of(h *layout.Header, body []byte) ttl.Life {
	if len(v.Eras) == 0 {
		return h.Life
	}
	l := h.Life
	for i := range v.Eras {
		if e := &v.Eras[i]; e.Holds(l) {
			second, based := e.After.Of(body)
			l = e.Next(l, second, based)
		}
	}
	return l
}

// Settled reports whether the index of expiry stands by the lives that Of tells.
func (v *Lives) Settled() bool { return len(v.Eras) == 0 }
