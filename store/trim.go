package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// trimSlack is the part of a retention that may go by before what has left the window is freed: one deletion
// of a key range shall free many entries.
const trimSlack = 8

// trimBatch and trimBytes bound what one step looks at: entries, and bytes of them.
const (
	trimBatch = 1024
	trimBytes = 4 << 20
)

// expiredEntries is what has left the window of a slot's log.
type expiredEntries struct {
	last layout.Sequence // of the latest entry to be freed; 0: there is none
	ts   int64           // its second
	more bool            // one step has not seen all
	next int64           // the second at which there will be more
}

// findExpiredEntries looks at the oldest entries of a slot's log: of the family of versions, or of expiries.
// window is the log's retention in seconds.
func (c *Container) findExpiredEntries(ctx context.Context, s *partition, family byte, window, now int64,
	decode func(value []byte) (layout.Version, error)) (expiredEntries, error) {
	out := expiredEntries{next: never}
	err := c.ds.view(ctx, func(r engine.Reader) error {
		it := r.Scan(layout.SlotFamily(s.scope, family), false)
		for n, size := 0, 0; !out.more && it.Next(); n++ {
			v, err := decode(it.Value())
			if err != nil {
				it.Close()
				return err
			}
			if v.Kind == layout.Floor {
				continue
			}
			if out.next == never {
				out.next = v.TS + window + window/trimSlack
			}
			if v.TS > now-window || out.next > now {
				break
			}
			out.last = layout.KeySequence(it.Key())
			out.ts = v.TS
			size += len(it.Value())
			out.more = n >= trimBatch || size >= trimBytes
		}
		return it.Close()
	})
	return out, err
}
