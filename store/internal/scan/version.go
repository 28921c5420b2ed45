package scan

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Version returns a text that identifies the documents of the scope in this snapshot: two snapshots with
// the same version have the same number of documents. The version consists of everything that can change
// this number. A write changes the LSN of the range, and a change of settings changes the mark that the
// engine stores for the range. A purge removes only expired items; it records its second, and the expired
// items that are not purged yet are hashed one by one. A lease can revive or keep an item; it records its
// second too. In the second of a lease there is no version, because another lease may follow in the same
// second.
func (s *DocumentSource) Version() (version string, ok bool, err error) {
	if !s.At.Settled || len(s.State.Tombstones) > 0 {
		return "", false, nil
	}
	var seconds [2]uint64
	for i, key := range [][]byte{layout.SweptKey(s.Range.Scope), layout.LeasedKey(s.Range.Scope)} {
		b, err := s.Reader.Get(key)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return "", false, err
		}
		seconds[i], _ = layout.NumberOf(b)
	}
	if seconds[1] > 0 && int64(seconds[1]) >= s.State.Now {
		return "", false, nil
	}
	dead := fnv.New64a()
	ok, err = s.eachDead(view.MaxGhosts, s.contains, func(rid uint64) {
		_, _ = dead.Write(layout.Number(rid)) // a hash never returns an error
	})
	if err != nil || !ok {
		return "", false, err
	}
	return fmt.Sprint(s.Range.ID, s.At.LSN, s.At.Mark, seconds, dead.Sum64()), true, nil
}
