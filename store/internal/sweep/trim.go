package sweep

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// trimSlack determines how long entries may stay after their retention: retention/trimSlack. Because of
// this delay, one deletion of a key range removes many entries.
const trimSlack = 8

// trimBatch and trimBytes limit how many entries one step reads, and how many bytes of them.
const (
	trimBatch = 1024
	trimBytes = 4 << 20
)

// LogEntriesToTrim describes the entries of a partition range's log (of versions or of expiries) that are
// older than the log's retention.
type LogEntriesToTrim struct {
	Last layout.WriteSequence // of the last entry to be deleted; 0: there is none
	TS   int64                // its second
	More bool                 // there are more old entries than one step reads
	Next int64                // the second at which there will be more to delete
}

// OldEntries finds the entries at the beginning of a range's log that are old enough to be deleted, up to the
// limits of one step. family is the log of versions or of expiries, window its retention in seconds, and now
// the current second. decode decodes an entry of that log; of its result only the kind and the time are used.
func OldEntries(ctx context.Context, e engine.Engine, scope []byte, family byte, window, now int64,
	decode func(value []byte) (layout.AllVersionsFeedEntry, error)) (LogEntriesToTrim, error) {
	out := LogEntriesToTrim{Next: view.Never}
	err := work.ViewUnder(&work.ScanTimeLimiter{Ctx: ctx}, e, func(r engine.Reader) error {
		it := r.Scan(layout.ScopeFamily(scope, family), false)
		for n, size := 0, 0; !out.More && it.Next(); n++ {
			v, err := decode(it.Value())
			if err != nil {
				it.Close()
				return err
			}
			if v.Kind == layout.Floor {
				continue
			}
			if out.Next == view.Never {
				out.Next = v.TS + window + window/trimSlack
			}
			if v.TS > now-window || out.Next > now {
				break
			}
			out.Last = layout.KeySequence(it.Key())
			out.TS = v.TS
			size += len(it.Value())
			out.More = n >= trimBatch || size >= trimBytes
		}
		return it.Close()
	})
	return out, err
}
