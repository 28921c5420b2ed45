package view

import (
	"math"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// A TTLStartProperty is the property of a document, in seconds since 1970, from which its time to live
// counts: the ttlPropertyPath of a container. If the document has no number there, the time to live counts
// from its _ts. The zero TTLStartProperty is the _ts itself.
type TTLStartProperty struct {
	path jsondoc.Path
	set  bool
}

// NewBasis parses path, the ttlPropertyPath of a container, and returns it as a TTLStartProperty: the
// property from whose value times to live count. For an empty path it is the _ts.
func NewBasis(path string) (TTLStartProperty, error) {
	if path == "" {
		return TTLStartProperty{}, nil
	}
	p, err := jsondoc.ParsePath(path)
	return TTLStartProperty{p, err == nil}, err
}

// MaxBase is the latest second that a TTLStartProperty returns, the last of the year 9999; -MaxBase is the
// earliest. Values beyond are clamped, which has no effect on expiry, since no clock reaches these seconds.
const MaxBase = 253_402_300_799

// Value returns the document's value of the property; jsondoc.Undefined if the TTLStartProperty is the _ts.
func (b *TTLStartProperty) Value(body []byte) jsondoc.Value {
	if !b.set {
		return jsondoc.Value{}
	}
	return jsondoc.Get(body, b.path)
}

// IsSet reports whether times to live count from a property of the document instead of from _ts.
func (b *TTLStartProperty) IsSet() bool { return b.set }

// Of returns the second from which the time to live of a document counts, or false if it counts from the
// _ts. A fraction of a second is dropped.
func (b *TTLStartProperty) Of(body []byte) (second int64, ok bool) {
	v := b.Value(body)
	if v.Kind() != jsondoc.Number {
		return 0, false
	}
	return int64(math.Floor(min(max(v.Num(), -MaxBase), MaxBase))), true
}

// A TTLStartPropertyChange describes a change of the ttlPropertyPath, the property from which times to live
// count: the policy until the change (ttl.PropertyPathPeriod), and the property after it.
type TTLStartPropertyChange struct {
	ttl.PropertyPathPeriod
	After TTLStartProperty
}

// LifetimeRules computes for the items of a container the ttl.Lifetime by which the expiry policy decides
// whether the item has expired. It is immutable.
type LifetimeRules struct {
	Basis TTLStartProperty         // of items that are written now
	Eras  []TTLStartPropertyChange // eras of which items may exist, oldest first; empty: all items are of the current era
}

// Of returns the Lifetime of an item. That is the one in its header unless the ttlPropertyPath, the
// property from which the time to live counts, has changed since the item was written; then it is computed
// by the current path.
func (v *LifetimeRules) Of(h *layout.ItemHeader, body []byte) ttl.Lifetime {
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

// Settled reports whether the expiry index has the entries of all items for the current ttlPropertyPath.
// While the reindexer carries out a change of the path, older entries may differ from the lifetimes that Of
// returns.
func (v *LifetimeRules) Settled() bool { return len(v.Eras) == 0 }
