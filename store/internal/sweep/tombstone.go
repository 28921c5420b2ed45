package sweep

import (
	"bytes"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// BelowTombstone returns at most limit items of a deleted partition key that were created at or below lsn,
// the LSN up to which its items are deleted. name is its layout.TombstoneName.
func BelowTombstone(r engine.Reader, cid uint32, name string, lsn uint64, limit int) (found []ExpiryCandidate,
	err error) {
	prefix := layout.TombstonePostings(cid, name)
	it := r.Scan(engine.Prefix(prefix), false)
	for len(found) < limit && it.Next() {
		rid, ok := layout.NumberOf(bytes.TrimPrefix(it.Key(), prefix))
		if ok && layout.RIDCreated(rid).LSN() <= lsn {
			found = append(found, ExpiryCandidate{RID: rid})
		}
	}
	return found, it.Close()
}
