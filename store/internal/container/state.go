package container

import (
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// State is the definition of a container, its partition ranges, and what is computed from them, as of one
// version. It is immutable: a change of the container makes a new State.
type State struct {
	Rec           record.Container
	Spec          definition.ContainerSpec
	Terms         *index.Indexer                    // of Spec, combined with Olders
	OlderIndexers []*index.Indexer                  // of Rec.IndexedBy
	LifeRules     view.LifetimeRules                // of Rec.Basis and Rec.Eras
	Ranges        []*Partition                      // by EPK
	Vectors       []definition.VectorPathDimensions // of Spec
	Tombstones    map[string]uint64                 // partition key -> LSN up to which its items are deleted
	Dropped       bool

	Version   uint32 // as in the marks of the container's ranges: see version.go
	Elsewhere bool   // another server is splitting a range
}

// MadeAt returns the catalog's LSN at which the i-th range was created.
func (st *State) MadeAt(i int) uint64 {
	if lsn := st.Rec.Ranges[i].LSN; lsn > 0 {
		return lsn
	}
	return st.Rec.RangeLSN
}

// Policy returns the expiry policy of the container.
func (st *State) Policy() *ttl.Policy { return &st.Rec.Policy }

// Life returns the life of an item: the values by which the policy decides whether it has expired.
func (st *State) Life(item *view.DecodedItem) ttl.Lifetime {
	return st.LifeRules.Of(&item.Head, item.Body)
}

// Expired reports whether an item has expired at second now.
func (st *State) Expired(h *layout.ItemHeader, body []byte, now int64) bool {
	if st.LifeRules.Settled() { // the usual case: the life in the header is up to date
		return st.Policy().Expired(h.Life, now)
	}
	return st.Policy().Expired(st.LifeRules.Of(h, body), now)
}

// Tombstoned reports whether an item was deleted with its whole partition key. pk returns the ordered
// encoding of the item's partition key; it is called only if a partition key with the same hash was
// deleted.
func (st *State) Tombstoned(h layout.ItemHeader, pk func() []byte) bool {
	return view.Tombstoned(st.Tombstones, h, pk)
}

// Moves reports whether an expired item has to be moved to the expiry sink, the container for expired
// items, instead of being deleted: the sink was set before the item expired, and the item was not deleted
// with its whole partition key.
func (st *State) Moves(ghost *view.DecodedItem) bool {
	none := definition.ExpiredItemSinkReference{}
	if st.Rec.Settings.ExpirySink() == none || st.Tombstoned(ghost.Head, func() []byte { return ghost.PK }) {
		return false
	}
	at, ok := st.Policy().ExpiresAt(st.Life(ghost))
	return ok && at >= st.Rec.MovesSince
}

// LogsExpiryOf reports whether the expiry of an item has still to be added to the log of expiries: the
// container keeps a log, and the expiry is not in it yet. The caller has checked that the item has expired
// and was not deleted together with its partition key.
func (st *State) LogsExpiryOf(item *view.DecodedItem) bool {
	return st.Rec.Log != nil && !item.Head.Announced && !st.Rec.Log.Knows(st.Life(item), st.Policy())
}

// backupRetention is how long all versions are kept, in seconds, by a container that was created with
// continuous backup on and whose policy has no retention: seven days.
const backupRetention = 7 * 24 * 60 * 60

// Retention returns how long the container keeps all versions, in seconds; 0 if it does not keep them.
func (st *State) Retention() int64 {
	if f := st.Spec.ChangeFeed; f != nil && f.RetentionMinutes > 0 {
		return 60 * int64(f.RetentionMinutes)
	}
	if st.Rec.Backup {
		return backupRetention
	}
	return 0
}

// AsksPreviousOfDelete reports whether the container's definition says that the feed of all versions shows
// the last version of a deleted or expired item. The last version of a deleted item is stored in any case;
// that of an expired item only if this is so, or if the option TTLPreviousImage is set.
func (st *State) AsksPreviousOfDelete() bool {
	mode, _ := st.Spec.PreviousImages()
	return mode&definition.PreviousOfDelete != 0
}

// EventRetention returns how long the log of expiries keeps an entry, in seconds; 0 if there is no log.
func (st *State) EventRetention() int64 {
	e := st.Rec.Settings.ExpiryEvents
	switch {
	case e == nil:
		return 0
	case e.Retention == 0:
		return definition.DefaultEventRetention
	}
	return int64(e.Retention)
}

// Webhooks returns the webhooks that receive the log of expiries.
func (st *State) Webhooks() []definition.Webhook {
	if st.Rec.Settings.ExpiryEvents == nil {
		return nil
	}
	return st.Rec.Settings.ExpiryEvents.Webhooks
}

// ChangesPrefix begins the name under which a container stores how far its change feed was delivered to a
// queue or topic; the path follows (store.EventDestination.Name). Webhooks are named by their URLs, which
// never begin with it.
const ChangesPrefix = "changes:"

// Subscribers returns the names under which the container stores how far its changes have been delivered:
// the URLs of its webhooks, and a name for the queue or topic that receives its changes.
func (st *State) Subscribers() (names []string) {
	for _, w := range st.Webhooks() {
		names = append(names, w.URL)
	}
	if to := st.Rec.Settings.ChangesTo; to != "" {
		names = append(names, ChangesPrefix+to)
	}
	return names
}

// LoadTombstones reads the tombstones of a container, which record that all items of a partition key were
// deleted. The result maps the name of a partition key (layout.TombstoneName) to the LSN up to which its
// items are deleted.
func LoadTombstones(r engine.Reader, cid uint32) (tombstones map[string]uint64, err error) {
	it := r.Scan(layout.ContainerFamily(cid, layout.FamilyTombstone), false)
	for it.Next() {
		lsn, ok := layout.NumberOf(it.Value())
		if !ok {
			it.Close()
			return nil, fmt.Errorf("%w: a tombstone of %d bytes", engine.ErrCorrupt, len(it.Value()))
		}
		if tombstones == nil {
			tombstones = make(map[string]uint64)
		}
		tombstones[layout.KeyTombstone(it.Key())] = lsn
	}
	return tombstones, it.Close()
}
