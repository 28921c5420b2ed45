package store

import (
	"bytes"
	"context"
	"time"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// A census goes over the lives of all items of a container: what a dry run and a forecast judge. In a small
// container it reads every item. In a large one it reads the keys of the families w and x, which hold write
// times and own deadlines: that is all a default is applied to. What they do not tell are leases and the
// policy generations of back-dated items. Both matter most for what lies below the cutoffs, so there it looks
// at the items, up to a number; beyond that it takes them for dead. So the answer about a large container is
// an estimate as far as it has leases.

const (
	// lookBudget is how long a census may take, in real time.
	lookBudget = time.Second
	// exactItems is the size up to which a container is small.
	exactItems = 100_000
)

type census struct {
	c     *Container
	watch *stopwatch
	limit int64 // items up to which each is looked at

	// each is told the life of an item. key reads which one that is.
	each func(l ttl.Life, key func() (Key, error)) error
	// immortal is told how many items there are besides; nil where they do not matter.
	immortal func(n int64)

	st    *containerState
	now   int64
	r     engine.Reader
	exact bool
}

// run takes the census of one state of the container. begin comes first. What was seen is durable when run
// returns.
func (n *census) run(ctx context.Context, begin func(st *containerState, now int64) error) error {
	var ranges []*slot
	err := n.c.view(ctx, func(st *containerState, now int64, r engine.Reader) error {
		n.st, n.now, n.r, ranges = st, now, r, st.ranges
		if err := begin(st, now); err != nil {
			return err
		}
		var items int64
		for _, s := range ranges {
			more, err := countKeys(r, layout.SlotFamily(s.scope, layout.FamilyFeed), n.limit+1-items)
			if err != nil {
				return err
			}
			items += more
		}
		walk := n.bodies
		if n.exact = items <= n.limit; !n.exact {
			walk = n.keys
		}
		for _, s := range ranges {
			if err := walk(s); err != nil {
				return err
			}
		}
		return nil
	})
	for _, s := range ranges {
		if err == nil {
			err = n.c.db.settle(ctx, s.scope, 0)
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	return wrap(err)
}

// scan goes over a range of keys for as long as there is time.
func (n *census) scan(rg engine.Range, fn func(it engine.Iterator) error) (err error) {
	it := n.r.Scan(rg, false)
	for err == nil && it.Next() && n.watch.more() {
		err = fn(it)
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return err
}

// bodies looks at every item of a slot.
func (n *census) bodies(s *slot) error {
	return n.scan(layout.SlotFamily(s.scope, layout.FamilyItem), func(it engine.Iterator) error {
		h, body, err := layout.DecodeItem(it.Value())
		if err != nil || n.st.fenced(h, func() []byte { return n.c.def.Extract(body).AppendOrdered(nil) }) {
			return err
		}
		return n.each(h.Life, func() (Key, error) { return n.c.keyOf(body), nil })
	})
}

// keys looks at the keys of a slot's families w and x, and takes all that the feed has more for items that
// never expire.
func (n *census) keys(s *slot) error {
	inherit, due := n.st.policy().Cutoffs(n.now)
	var mortal int64
	for _, f := range []struct {
		family byte
		cutoff int64
	}{{layout.FamilyWritten, inherit}, {layout.FamilyDeadline, due}} {
		looks := maxGhosts
		prefix := layout.TimePrefix(s.scope, f.family)
		err := host.EachDue(n.r, prefix, never, func(e host.Entry) (more bool, err error) {
			if !n.watch.more() {
				return false, nil
			}
			mortal++
			l := keyLife(f.family, e.At)
			if e.At <= f.cutoff && looks > 0 {
				looks--
				h, _, err := n.read(s, e.ID)
				if err != nil {
					return false, err
				}
				l = h.Life
			}
			return true, n.each(l, func() (Key, error) {
				_, body, err := n.read(s, e.ID)
				return n.c.keyOf(body), err
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
	err := n.scan(layout.SlotFamily(s.scope, layout.FamilyFeed), func(engine.Iterator) error {
		left++
		return nil
	})
	n.immortal(max(left, 0))
	return err
}

// keyLife is a life that a policy judges as it does that of the item whose key in family w or x holds second.
// An item's own ttl is not in its key, but only the sum counts. Of the first policy's generation, it is dead
// by every floor at or above it.
func keyLife(family byte, second int64) ttl.Life {
	if family == layout.FamilyDeadline {
		return ttl.Life{TS: second - 1, Own: 1}
	}
	return ttl.Life{TS: second}
}

// read reads an item by its rid.
func (n *census) read(s *slot, rid uint64) (layout.Header, []byte, error) {
	v, err := n.r.Get(layout.AppendSlotKey(nil, s.scope, layout.FamilyItem, rid))
	if err != nil {
		return layout.Header{}, nil, err
	}
	return layout.DecodeItem(v)
}

// keyOf is the key of a stored document. It does not share memory with it.
func (c *Container) keyOf(body []byte) Key {
	body = bytes.Clone(body)
	return Key{Partition: c.def.Extract(body), ID: doc.Get(body, layout.IDPath).Str()}
}
