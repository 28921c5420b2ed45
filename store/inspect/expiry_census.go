package inspect

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// A census determines when each item of a container expires, for a dry run or a forecast. In a small
// container it reads every item. In a large one it reads the index of expiry: the keys of the families w and
// x, which hold the write times of items and the deadlines of items with a ttl of their own. These keys do
// not show leases and the policy generations of back-dated items. Both matter most for items that have
// expired by their keys, so the census reads a limited number of those items, and counts the rest as expired.
// So the result for a large container with leases is an estimate. During a change of ttlPropertyPath the keys
// do not match the new path yet, and the census reads every item, even in a large container.

// ExactItems is the number of items up to which a forecast reads every item. In larger containers it reads
// mostly keys.
const ExactItems = 100_000

// itemExpiryScan goes once through all items of a container and reports to its functions when they expire.
type itemExpiryScan struct {
	state *view.ContainerAtTime
	r     engine.Reader
	more  func() bool // called before each step; false: the time is up
	limit int64       // with up to this number of items, each item is read
	whole bool        // every item is read, whatever their number

	// each is called with the life of an item, the times by which its expiry is decided. body reads the
	// item's document.
	each func(l ttl.Lifetime, body func() ([]byte, error)) error
	// immortal is called with the number of items that never expire and were not passed to the function each.
	// It may be nil.
	immortal func(n int64)
}

// run counts the expiry times of all items. exact reports whether it has read the items themselves, and not
// only keys.
func (n *itemExpiryScan) run() (exact bool, err error) {
	var items int64
	whole := n.whole || !n.state.Lives.Settled()
	for i := 0; i < len(n.state.Ranges) && !whole; i++ {
		feed := layout.ScopeFamily(n.state.Ranges[i].Scope, layout.FamilyFeed)
		more, err := view.Count(n.r, feed, n.limit+1-items)
		if err != nil {
			return false, err
		}
		items += more
	}
	walk := n.bodies
	if exact = whole || items <= n.limit; !exact {
		walk = n.keys
	}
	for i := range n.state.Ranges {
		if err := walk(n.state.Ranges[i].Scope); err != nil {
			return exact, err
		}
	}
	return exact, nil
}

// scan calls fn at each key of a key range, until fn fails or the time for the count is over.
func (n *itemExpiryScan) scan(rg engine.Range, fn func(it engine.Iterator) error) (err error) {
	it := n.r.Scan(rg, false)
	for err == nil && it.Next() && n.more() {
		err = fn(it)
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

// bodies reads every item of a range and calls n.each with its Lifetime, the values that decide when it
// expires.
func (n *itemExpiryScan) bodies(scope []byte) error {
	return n.scan(layout.ScopeFamily(scope, layout.FamilyItem), func(it engine.Iterator) error {
		h, body, err := layout.DecodeItem(it.Value())
		if err != nil || n.state.Tombstoned(h, func() []byte { return n.state.Keys.PartitionOf(body) }) {
			return err
		}
		return n.each(n.state.Lives.Of(&h, body), func() ([]byte, error) { return body, nil })
	})
}

// keys reads the index of expiry of a range, whose keys are by the time of the write or by the deadline, and
// reports the expiry of each item in it. It then reports the number of the other items of the range, which
// never expire.
func (n *itemExpiryScan) keys(scope []byte) error {
	inherit, due := n.state.Policy.Cutoffs(n.state.Now)
	var mortal int64
	for _, f := range []struct {
		family byte
		cutoff int64
	}{{layout.FamilyWritten, inherit}, {layout.FamilyDeadline, due}} {
		looks := view.MaxGhosts
		prefix := layout.TimePrefix(scope, f.family)
		err := host.EachDue(n.r, prefix, view.Never, func(e host.DeadlineIndexEntry) (more bool, err error) {
			if !n.more() {
				return false, nil
			}
			mortal++
			l := view.KeyLife(f.family, e.At)
			if e.At <= f.cutoff && looks > 0 {
				looks--
				h, _, err := n.read(scope, e.ID)
				if err != nil {
					return false, err
				}
				l = h.Life
			}
			return true, n.each(l, func() ([]byte, error) {
				_, body, err := n.read(scope, e.ID)
				return body, err
			})
		})
		if err != nil {
			return err
		}
	}
	if n.immortal == nil {
		return nil
	}
	left := -mortal
	err := n.scan(layout.ScopeFamily(scope, layout.FamilyFeed), func(engine.Iterator) error {
		left++
		return nil
	})
	n.immortal(max(left, 0))
	return err
}

// read reads an item by its rid.
func (n *itemExpiryScan) read(scope []byte, rid uint64) (layout.ItemHeader, []byte, error) {
	v, err := n.r.Get(layout.AppendScopeKey(nil, scope, layout.FamilyItem, rid))
	if err != nil {
		return layout.ItemHeader{}, nil, err
	}
	return layout.DecodeItem(v)
}
