package transaction

import (
	"bytes"
	"errors"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/sweep"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// ErrBlocked ends a transaction that needs an expired item to be moved to the expiry sink (the configured
// destination of expired items), where it cannot write. Tx.Blocked names the item.
var ErrBlocked = errors.New("a document that has expired must be moved first")

// ItemKeys returns the engine's keys under which the items of the candidates are stored.
func ItemKeys(s *container.Partition, batch []sweep.ExpiryCandidate) [][]byte {
	keys := make([][]byte, len(batch))
	mem := make([]byte, 0, len(batch)*(layout.ScopeLen+1+layout.RIDLen))
	for i, cand := range batch {
		n := len(mem)
		mem = layout.AppendScopeKey(mem, s.Scope, layout.FamilyItem, cand.RID)
		keys[i] = mem[n:len(mem):len(mem)]
	}
	return keys
}

// Moved returns those items among the candidates that have expired by second now and have to be moved to
// the expiry sink.
func (c *ImmutableContainerProperties) Moved(r engine.Reader, st *container.State, s *container.Partition,
	batch []sweep.ExpiryCandidate, now int64) (items []*StoredItem, err error) {
	for _, cand := range batch {
		v, err := r.Get(layout.AppendScopeKey(nil, s.Scope, layout.FamilyItem, cand.RID))
		if errors.Is(err, engine.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		item, err := c.Decode(cand.RID, v)
		if err != nil {
			return nil, err
		}
		if st.Expired(&item.Head, item.Body, now) && st.Moves(&item.DecodedItem) {
			items = append(items, item)
		}
	}
	return items, nil
}

// SelectExpired reads the candidates of batch until the expired ones have more than maxBytes of bodies.
// judged is the number of candidates that it has read, and ghosts are the items among them that have expired
// but are still stored. It appends to alive the candidates that have not expired and whose entry in the index
// of expiry is still correct. The rids of a batch are mostly ascending, so one iterator that moves forward is
// faster than single gets.
func (t *Tx) SelectExpired(batch []sweep.ExpiryCandidate, maxBytes int,
	alive *[]sweep.ExpiryCandidate) (judged int,
	ghosts []*StoredItem, err error) {
	it := t.Scan(layout.ScopeFamily(t.Range.Scope, layout.FamilyItem), false)
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
	}()
	var key []byte
	bytesRead := 0
	for _, cand := range batch {
		if bytesRead > maxBytes {
			break
		}
		judged++
		key = layout.AppendScopeKey(key[:0], t.Range.Scope, layout.FamilyItem, cand.RID)
		if !it.SeekGE(key) || !bytes.Equal(it.Key(), key) {
			continue
		}
		item, err := t.Container.Decode(cand.RID, bytes.Clone(it.Value()))
		switch {
		case err != nil:
			return judged, nil, err
		case !cand.Matches(item.Head.Life):
		case t.Live(item):
			cand.Next, _ = t.State.Policy().ExpiresAt(t.State.Life(&item.DecodedItem))
			*alive = append(*alive, cand)
		default:
			ghosts = append(ghosts, item)
			bytesRead += len(item.Body)
		}
	}
	return judged, ghosts, nil
}

// PurgeAll removes ghosts (expired items that are not purged yet), and calls take for those that have to be
// moved to the expiry sink. late is the first ghost that the sink has not taken, nil if it has taken all.
func (t *Tx) PurgeAll(ghosts []*StoredItem, take func(*StoredItem) (bool,
	error)) (late *StoredItem, err error) {
	keys := t.changed[:0]
	ends := make([]int, len(ghosts))
	for i, g := range ghosts { // a read after a write would make the transaction build an index of its writes
		if keys, err = t.owned(keys, g); err != nil {
			return nil, err
		}
		keys = append(keys, view.KeyValue{Key: t.feedKey(g.Head.Sequence)},
			view.KeyValue{Key: t.itemKey(g.RID)})
		ends[i] = len(keys)
	}
	t.changed = keys
	purged := 0
	for i, g := range ghosts {
		if t.State.Moves(&g.DecodedItem) {
			taken, err := take(g)
			if err != nil {
				return nil, err
			}
			if !taken {
				late = g
				break
			}
		}
		t.recordPurge(g)
		t.touch(g)
		purged = ends[i]
	}
	t.deleteAll(keys[:purged])
	return late, nil
}

// RaiseFloor deletes the entries of the feed of all versions before the sequence, so that the feed begins
// with the entry at the sequence (its floor). It does nothing if the retention has become longer meanwhile
// and still includes that entry.
func (t *Tx) RaiseFloor(seq layout.WriteSequence) error {
	value, err := t.Get(layout.AppendSequenceKey(nil, t.Range.Scope, layout.FamilyVersions, seq))
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := layout.DecodeVersion(value)
	if err != nil || v.TS > t.Now-t.State.Retention() {
		return err
	}
	below := layout.ScopeFamily(t.Range.Scope, layout.FamilyVersions)
	below.End = layout.AppendSequenceKey(nil, t.Range.Scope, layout.FamilyVersions, seq)
	DropVersions(t.Txn, below)
	SetFloor(t.Txn, t.Range.Scope, seq, v.TS)
	return nil
}

// touch records the rid of an item that the transaction has changed, if the range is being split. After the
// commit the split copies these items again: see split.ConcurrentlyWrittenRIDs.
func (t *Tx) touch(item *StoredItem) {
	if t.noted != nil {
		t.touched = append(t.touched, item.RID)
	}
}

// tellSplit gives the changed items to a running split, which copies them again. It is called after the
// commit, while the container's gate (its lock) is held shared.
func (t *Tx) tellSplit() {
	if t.noted != nil {
		t.noted.Add(t.touched)
	}
}
