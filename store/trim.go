package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// trimSlack determines how long entries may stay after their retention: retention/trimSlack. The delay lets
// one deletion of a key range free many entries.
const trimSlack = 8

// trimBatch and trimBytes limit how many entries one step reads, and how many bytes of them.
const (
	trimBatch = 1024
	trimBytes = 4 << 20
)

// expiredEntries describes the entries of a slot's log that are older than its retention.
type expiredEntries struct {
	last layout.Sequence // of the last entry to be deleted; 0: there is none
	ts   int64           // its second
	more bool            // there are more than one step reads
	next int64           // the second at which there will be more to delete
}

// findExpiredEntries reads the oldest entries of a slot's log. family is the log of versions or of
// expiries, window its retention in seconds.
func (c *Container) findExpiredEntries(
	ctx context.Context,
	s *container.Partition,
	family byte,
	window, now int64,
	decode func(value []byte) (layout.Version, error),
) (expiredEntries, error) {
	out := expiredEntries{next: never}
	err := c.ds.view(ctx, func(r engine.Reader) error {
		it := r.Scan(layout.SlotFamily(s.Scope, family), false)
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
