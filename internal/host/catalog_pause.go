package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/mayflydb/mayfly/engine"
)

// A pause of the reaper ends when the server at which it was requested ends. A server that has the data for
// itself keeps the pause in memory. Servers that share the data keep it as a record of the catalog, so that
// it applies to all of them.
//
//	00 · m · number · reaper   the pause of all data (0), or of a tenant's object with this number

const pauseName = "reaper"

// reaperPauseRecord is a stored record that exists while the purging of expired items is paused, for a
// container or for all data.
type reaperPauseRecord struct {
	Owner string `json:"owner"` // the server at which it was requested
}

// Paused reports whether one of the servers that share the data has paused the purging of a container. number
// is the container's number in the catalog; 0 stands for all data.
func (in *EngineInstance) Paused(number uint32) bool {
	list := in.pauses.Load()
	return list != nil && slices.Contains(*list, number)
}

// SharePause stores, for all servers that share the data, that the purging of a container is paused or no
// longer paused. number is the container's number in the catalog; 0 stands for all data. The other servers
// follow within a second. If the engine cannot be shared, SharePause does nothing.
func (in *EngineInstance) SharePause(ctx context.Context, number uint32, paused bool) error {
	if !in.Shared() {
		return nil
	}
	if err := in.catalog.Lock(ctx); err != nil {
		return err
	}
	defer in.catalog.Unlock()
	key := ownKey(number, pauseName)
	var list []uint32
	err := in.catalog.Change(ctx, func(t *CatalogTxn) error {
		t.Delete(key)
		if paused {
			if err := SetRecord(t, key, reaperPauseRecord{in.ServerID()}); err != nil {
				return err
			}
		}
		return eachPause(t, func(number uint32, _ reaperPauseRecord) { list = append(list, number) })
	})
	if err == nil {
		in.pauses.Store(&list)
	}
	return err
}

// openPauses is called when a server that shares its data starts. It loads for which containers purging is
// paused, and resumes purging where the server that paused it has ended without resuming it.
func (in *EngineInstance) openPauses(ctx context.Context) error {
	list, err := in.Servers(ctx)
	if err != nil || !in.Shared() {
		return err
	}
	return in.endPauses(ctx, func(owner string) bool {
		return !slices.ContainsFunc(list, func(s RunningServerInfo) bool { return s.ID == owner })
	})
}

// followPauses loads into memory, from the state of r, where purging is paused.
func (in *EngineInstance) followPauses(r engine.Reader) error {
	if !in.Shared() {
		return nil
	}
	var list []uint32
	err := eachPause(r, func(number uint32, _ reaperPauseRecord) { list = append(list, number) })
	if err == nil {
		in.pauses.Store(&list)
	}
	return err
}

// endPauses deletes the stored pauses of purging whose servers have ended, so that purging continues there:
// ended reports whether the server that has set a pause has. The caller holds the catalog's lock, or is the
// only user of the instance.
func (in *EngineInstance) endPauses(ctx context.Context, ended func(owner string) bool) error {
	var found, left []uint32
	read := func(r engine.Reader) error {
		found, left = nil, nil
		return eachPause(r, func(number uint32, rec reaperPauseRecord) {
			if ended(rec.Owner) {
				found = append(found, number)
			} else {
				left = append(left, number)
			}
		})
	}
	if err := in.eng.View(ctx, read); err != nil || len(found) == 0 {
		in.pauses.Store(&left)
		return err
	}
	err := in.catalog.Change(ctx, func(t *CatalogTxn) error {
		err := read(t)
		for _, number := range found {
			t.Delete(ownKey(number, pauseName))
		}
		return err
	})
	in.pauses.Store(&left)
	return err
}

// eachPause calls fn for each stored record that says that the purging of a container, or of all data, is
// paused.
func eachPause(r engine.Reader, fn func(number uint32, rec reaperPauseRecord)) (err error) {
	it := r.Scan(CatalogKind(kindHost), false)
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
	}()
	for it.Next() {
		if !bytes.Equal(it.Key()[min(CatalogHead, len(it.Key())):], append([]byte(pauseName), 0, 1)) {
			continue
		}
		var rec reaperPauseRecord
		if err := DecodeRecord(it.Value(), &rec); err != nil {
			return err
		}
		fn(binary.BigEndian.Uint32(it.Key()[2:CatalogHead]), rec)
	}
	return nil
}
