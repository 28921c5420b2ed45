package check

import (
	"errors"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// Orphans reports keys of containers that do not exist. known has the ids of the containers in the catalog.
// The keys of a dropped container that is still being erased are not reported. Orphans ends if report returns
// false.
func Orphans(r engine.Reader, known map[uint32]bool, report func(error) bool) error {
	it := r.Scan(engine.Range{Start: layout.AppendCID(nil, layout.CIDBit)}, false)
	more := it.Next()
	for more {
		cid, ok := layout.KeyCID(it.Key())
		if !ok {
			break
		}
		if !known[cid] {
			_, err := r.Get(layout.DropKey(cid))
			if errors.Is(err, engine.ErrNotFound) &&
				!report(fmt.Errorf("keys of a container %x that does not exist", cid)) {
				break
			}
		}
		end := layout.ContainerRange(cid).End
		if end == nil {
			break
		}
		more = it.SeekGE(end)
	}
	return it.Close()
}
