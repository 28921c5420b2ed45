package inspect

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// A census goes over the lives of all items of a container: what a dry run and a forecast judge. In a small
// container it reads every item. In a large one it reads the keys of the families w and x, which hold write
// times and own deadlines: that is all a default is applied to. What they do not tell are leases and the
// policy generations of back-dated items. Both matter most for what lies below the cutoffs, so there it looks
// at the items, up to a number; beyond that it takes them for dead. So the answer about a large container is
// an estimate as far as it has leases. While times to live are beginning to count from another property those
// keys do not stand by it, and every item is read in a large one, too.

// ExactItems is the size up to which a container is small.
const ExactItems = 100_000

type census struct {
	state *view.State
	r     engine.Reader
	more  func() bool // counts a step, and reports whether there is time for it
	limit int64       // items up to which each is looked at
	whole bool        // every item is looked at, however many there are

	// each is told the life of an item. body reads which one that is.
	each func(l ttl.Life, body func() ([]byte, error)) error
	// immortal is told how many items there are besides; nil where they do not matter.
	immortal func(n int64)
}

// run takes the census. exact reports that it has looked at every item.
func (n *census) run() (exact bool, err error) {
	var items int64
	whole := n.whole || !n.state.Lives.Settled()
	for i := 0; i < len(n.state.Ranges) && !whole; i++ {
		feed := layout.SlotFamily(n.state.Ranges[i].Scope, layout.FamilyFeed)
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

// scan goes over a range of keys for as long as there is time.
func (n *census) scan(rg engine.Range, fn func(it engine.Iterator) error) (err error) {
	it := n.r.Scan(rg, false)
	for err == nil && it.Next() && n.more() {
		err = fn(it)
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

// bodies looks at every item of a slot.
func (n *census) bodies(scope []byte) error {
	return n.scan(layout.SlotFamily(scope, layout.FamilyItem), func(it engine.Iterator) error {
		h, body, err := layout.DecodeItem(it.Value())
		if err != nil || n.state.Tombstoned(h, func() []byte { return n.state.Keys.PartitionOf(body) }) {
			return err
		}
		return n.each(n.state.Lives.Of(&h, body), func() ([]byte, error) { return body, nil })
	})
}

// keys looks at the keys of a slot's families w and x, and takes all that the feed has more for items that
// never expire.
func (n *census) keys(scope []byte) error {
	inherit, due := n.state.Policy.Cutoffs(n.state.Now)
	var mortal int64
	for _, f := range []struct {
		family byte
		cutoff int64
	}{{layout.FamilyWritten, inherit}, {layout.FamilyDeadline, due}} {
		looks := view.MaxGhosts
		prefix := layout.TimePrefix(scope, f.family)
		err := host.EachDue(n.r, prefix, view.Never, func(e host.Entry) (more bool, err error) {
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
	err := n.scan(layout.SlotFamily(scope, layout.FamilyFeed), func(engine.Iterator) error {
		left++
		return nil
	})
	n.immortal(max(left, 0))
	return err
}

// read reads an item by its rid.
func (n *census) read(scope []byte, rid uint64) (layout.Header, []byte, error) {
	v, err := n.r.Get(layout.AppendSlotKey(nil, scope, layout.FamilyItem, rid))
	if err != nil {
		return layout.Header{}, nil, err
	}
	return layout.DecodeItem(v)
}
