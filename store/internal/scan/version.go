package scan

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Version implements query.Versioned. A write moves the position of the slot, a change of the settings its
// mark. What makes an item die or live without moving either is told by the rest. A purge notes its second,
// and takes nothing but the dead away; who is dead and not purged is counted one by one. A lease notes its
// second, too: in that same second another one may follow, so nothing is told then.
func (s *Source) Version() (version string, ok bool, err error) {
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
	ok, err = s.eachDead(view.MaxGhosts, func(rid uint64) {
		_, _ = dead.Write(layout.Number(rid)) // a hash does not fail
	})
	if err != nil || !ok {
		return "", false, err
	}
	return fmt.Sprint(s.Range.ID, s.At.LSN, s.At.Mark, seconds, dead.Sum64()), true, nil
}
