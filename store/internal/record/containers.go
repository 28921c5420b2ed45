package record

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// KnownContainers returns the ids of all containers in the catalog.
func KnownContainers(r engine.Reader) (known map[uint32]bool, err error) {
	known = make(map[uint32]bool)
	err = host.ScanRecords(r, layout.KindContainer, func(_ []byte, rec Container) error {
		known[rec.CID] = true
		return nil
	})
	return known, err
}
