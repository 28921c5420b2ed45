package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// A snapshot is the data of all tenants at one moment, stored by the engine under a name. Its note is a JSON
// object with the member "time" and one member of each tenant.

// SnapshotInfo describes a stored copy of all data, made by Host.Snapshot.
type SnapshotInfo struct {
	Name  string
	Time  time.Time                  // when it was taken, by the server's clock
	Notes map[string]json.RawMessage // the members of the note
	// Bytes is the size on disk. Files shared with the data or with other snapshots count in full.
	Bytes int64
}

const noteTime = "time"

// Snapshot stores the current state of all data under a name: everything that has been acknowledged, and the
// state of virtual clocks. It fails with ErrNoSnapshots, engine.ErrSnapshotExists, engine.ErrSnapshotName and
// engine.ErrDiskFull.
func (h *Host) Snapshot(ctx context.Context, name string) (SnapshotInfo, error) {
	if err := h.work.Lock(ctx); err != nil {
		return SnapshotInfo{}, err
	}
	defer h.work.Unlock()
	keeper, err := h.snapshotter()
	if err != nil {
		return SnapshotInfo{}, err
	}
	if err := h.Instance().makeSnapshot(ctx, keeper, name); err != nil {
		return SnapshotInfo{}, err
	}
	list, err := snapshots(ctx, keeper)
	for _, s := range list {
		if s.Name == name {
			return s, nil
		}
	}
	return SnapshotInfo{}, err
}

// makeSnapshot locks the catalog and takes a snapshot.
func (in *EngineInstance) makeSnapshot(ctx context.Context, keeper engine.Snapshotter, name string) error {
	if err := in.catalog.Lock(ctx); err != nil {
		return err
	}
	defer in.catalog.Unlock()
	if err := in.saveClock(ctx); err != nil {
		return err
	}
	note, err := in.note()
	if err != nil {
		return err
	}
	return keeper.Snapshot(ctx, name, note)
}

// note returns the JSON object that is stored as the note of a snapshot: the time of the clock, then one
// member for each tenant that has something to add (SnapshotNote), in the order of the tenants.
func (in *EngineInstance) note() ([]byte, error) {
	b := []byte("{")
	add := func(member string, value any) error {
		raw, err := json.Marshal(value)
		b = append(fmt.Appendf(b, "%q:", member), raw...)
		return err
	}
	if err := add(noteTime, in.clock.Time().UTC()); err != nil {
		return nil, err
	}
	for _, r := range in.tenants {
		if r.SnapshotNote == nil {
			continue
		}
		member, value := r.SnapshotNote()
		b = append(b, ',')
		if err := add(member, value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// Snapshots returns all snapshots, sorted by name.
func (h *Host) Snapshots(ctx context.Context) ([]SnapshotInfo, error) {
	if err := h.work.Lock(ctx); err != nil {
		return nil, err
	}
	defer h.work.Unlock()
	keeper, err := h.snapshotter()
	if err != nil {
		return nil, err
	}
	return snapshots(ctx, keeper)
}

func snapshots(ctx context.Context, keeper engine.Snapshotter) ([]SnapshotInfo, error) {
	kept, err := keeper.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]SnapshotInfo, len(kept))
	for i, k := range kept {
		list[i] = SnapshotInfo{Name: k.Name, Bytes: k.Bytes}
		if err := DecodeRecord(k.Note, &list[i].Notes); err != nil {
			return nil, err
		}
		if raw, ok := list[i].Notes[noteTime]; ok {
			if err := DecodeRecord(raw, &list[i].Time); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// DeleteSnapshot removes a snapshot, or returns engine.ErrNoSnapshot. Data restored from it stay.
func (h *Host) DeleteSnapshot(ctx context.Context, name string) error {
	if err := h.work.Lock(ctx); err != nil {
		return err
	}
	defer h.work.Unlock()
	keeper, err := h.snapshotter()
	if err != nil {
		return err
	}
	return keeper.DropSnapshot(ctx, name)
}

// WithSnapshot opens a private copy of a snapshot with the given tenants and runs fn, which may read from it.
// No background work is started. The copy is deleted when the call ends. Close ends fn's context and waits
// for fn; the error is then engine.ErrClosed.
func (h *Host) WithSnapshot(ctx context.Context, name string, tenants []Tenant,
	fn func(ctx context.Context, then *EngineInstance) error) error {
	if err := h.work.Lock(ctx); err != nil {
		return err
	}
	defer h.work.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	err := h.openSnapshot(ctx, name, tenants, fn)
	if err != nil && h.life.Err() != nil {
		return engine.ErrClosed
	}
	return err
}

func (h *Host) openSnapshot(ctx context.Context, name string, tenants []Tenant,
	fn func(ctx context.Context, then *EngineInstance) error) error {
	keeper, err := h.snapshotter()
	if err != nil {
		return err
	}
	e, err := keeper.OpenSnapshot(ctx, name)
	if err != nil {
		return err
	}
	defer e.Close() // the copy is discarded: an error does not matter
	o := Options{Clock: ttl.NewVirtualClock(ttl.SystemClock{})}
	o = o.withDefaults()
	if _, err := upgrade(ctx, e, o, h.tenants, false); err != nil {
		return err
	}
	then, err := openInstance(ctx, nil, e, o, tenants)
	if err != nil {
		return err
	}
	return fn(ctx, then)
}

func (h *Host) snapshotter() (engine.Snapshotter, error) {
	if s, ok := h.Instance().eng.(engine.Snapshotter); ok {
		return s, nil
	}
	return nil, ErrNoSnapshots
}

// Adopt turns copied data, such as a snapshot's, into independent data: it gives them a new incarnation. Data
// of an older format are upgraded. The engine must be freshly opened; afterwards call Open with the same
// tenants.
func Adopt(ctx context.Context, e engine.Engine, tenants ...Tenant) error {
	_, err := adopt(ctx, e, Options{}.withDefaults(), tenants, catalogHeader{})
	return err
}

// adopt upgrades the data of a freshly opened engine and gives them a new incarnation, the random number that
// identifies the data of an instance. old is the header of the catalog that they replace: no catalog number
// below old.Next and no LSN up to old.Highest is issued again. adopt returns the format that the data had.
func adopt(ctx context.Context, e engine.Engine, o Options, tenants []Tenant, old catalogHeader) (int, error) {
	incarnation, err := newIncarnation()
	if err != nil {
		return 0, err
	}
	found, err := upgrade(ctx, e, o, tenants, false)
	if err != nil {
		return 0, err
	}
	_, err = e.Update(ctx, [][]byte{CatalogScope()}, func(t engine.Txn) error {
		raw, err := t.Get(headKey())
		if err != nil {
			return err
		}
		var next catalogHeader
		if err := DecodeRecord(raw, &next); err != nil {
			return err
		}
		if err := next.readable(); err != nil {
			return err
		}
		next.Incarnation = incarnation
		next.Next = max(next.Next, old.Next)
		next.Highest = max(next.Highest, old.Highest)
		if old.Next > 0 { // these data replace the old ones
			next.Floor = next.Next
		}
		if err := SetRecord(t, headKey(), next); err != nil {
			return err
		}
		scopes, err := scopesOf(t, tenants)
		if err != nil {
			return err
		}
		for _, scope := range scopes {
			t.RaiseLSN(scope, old.Highest+1)
		}
		return nil
	})
	return found, err
}

// scopesOf returns the engine scopes of all tenants (documents, messages) in the data that r reads, and
// the catalog's.
func scopesOf(r engine.Reader, tenants []Tenant) ([][]byte, error) {
	scopes := [][]byte{CatalogScope()}
	for _, t := range tenants {
		own, err := t.Scopes(r)
		if err != nil {
			return nil, err
		}
		for _, scope := range own {
			scopes = append(scopes, bytes.Clone(scope))
		}
	}
	return scopes, nil
}
