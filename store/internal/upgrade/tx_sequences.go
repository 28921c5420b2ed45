package upgrade

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// In format 1 a sequence is an LSN: each write of a transaction has its own. PlaceSequences turns each of
// them into the first sequence of that LSN. Clients keep their session tokens and continuations, which are
// LSNs, and the order of writes stays. Rids stay, since their old sequences are below all new ones. Etags
// change.
//
// An old sequence looks like a new one, so each must be changed exactly once. Each transaction stores the
// progress in the same commit. It reads a family backwards, because the new key of an entry lies after its
// old one, in the part that has been read already.

// sequenceConversionProgress is the stored position of an upgrade that converts the sequences of writes from
// data format 1 to format 2. All entries up to the position have been converted. They are ordered by
// container, range and kind of key; within one kind they are converted from the last key to the first.
type sequenceConversionProgress struct {
	CID    uint32 `json:"cid"`
	Slot   uint16 `json:"slot"`
	Family int    `json:"family"`        // index in sequenceFamilies; len: confirmed positions of webhooks
	Key    []byte `json:"key,omitempty"` // the last key that was changed; nil: none yet in this family
}

func progressKey() []byte { return layout.CatalogKey(layout.KindUpgrade, 0, "sequences") }

// dropProgress removes the record of how far PlaceSequences has come. PlaceSequences itself keeps the
// record, because after a crash it may run once more; the upgrade from format 2, after which it never
// runs, calls dropProgress.
func dropProgress(t engine.Txn) { t.Delete(progressKey()) }

func (p sequenceConversionProgress) compare(q sequenceConversionProgress) int {
	return cmp.Or(cmp.Compare(p.CID, q.CID), cmp.Compare(p.Slot, q.Slot), cmp.Compare(p.Family, q.Family))
}

// sequenceFamilies are the families (kinds of keys) of a container that contain a write sequence: the LSN of
// a transaction and the position of the write in it. moves says that the key ends with a sequence, so that
// the upgrade writes the entry under another key. at lists the offsets of the sequences in the value.
var sequenceFamilies = [...]struct {
	family byte
	moves  bool
	at     []int
}{
	{layout.FamilyItem, false, []int{4}},
	{layout.FamilyFeed, true, []int{8}},
	{layout.FamilyVersions, true, []int{12, 30}},
	{layout.FamilyExpired, true, []int{layout.ExpiryFixed + 12, layout.ExpiryFixed + 30}},
}

// Limits of one transaction of an upgrade. A single entry may be larger.
const (
	upgradeKeys  = 1000
	upgradeBytes = 1 << 20
)

// PlaceSequences upgrades data of format 1, where each write has its own LSN, to format 2, where a sequence
// is an LSN and a position. It fails with engine.ErrOlderFormat, before it changes anything, if documents of
// a deleted partition key are still stored: their rids would be indistinguishable from those of later
// documents.
func PlaceSequences(ctx context.Context, e engine.Engine) error {
	var containers []record.Container
	var at sequenceConversionProgress
	_, err := e.Update(ctx, [][]byte{host.CatalogScope()}, func(r engine.Txn) error {
		containers, at = nil, sequenceConversionProgress{}
		err := host.ScanRecords(r, layout.KindContainer, func(_ []byte, rec record.Container) error {
			containers = append(containers, rec)
			return noTombstones(r, rec.CID)
		})
		if err != nil {
			return err
		}
		raw, err := r.Get(progressKey())
		if errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		return errors.Join(err, host.DecodeRecord(raw, &at))
	})
	if err != nil {
		return err
	}
	slices.SortFunc(containers, func(a, b record.Container) int { return cmp.Compare(a.CID, b.CID) })
	for _, rec := range containers {
		last := uint16(max(rec.RangeNumbers, 1) - 1)
		for _, r := range rec.Ranges {
			last = max(last, r.Number)
		}
		for number := range last + 1 {
			for family := range sequenceFamilies {
				next := sequenceConversionProgress{CID: rec.CID, Slot: number, Family: family}
				switch c := next.compare(at); {
				case c < 0:
					continue
				case c == 0:
					next = at
				}
				if err := placeFamily(ctx, e, next); err != nil {
					return err
				}
			}
		}
		end := sequenceConversionProgress{CID: rec.CID, Slot: last, Family: len(sequenceFamilies)}
		if end.compare(at) <= 0 {
			continue // the confirmed positions are changed in one transaction
		}
		if err := placeConfirmed(ctx, e, end); err != nil {
			return err
		}
	}
	return nil
}

// noTombstones returns engine.ErrOlderFormat if the container has a deleted partition key whose items are not
// purged yet.
func noTombstones(r engine.Reader, cid uint32) (err error) {
	it := r.Scan(engine.Prefix(layout.TombstoneKey(cid, "")), false)
	defer func() { err = errors.Join(err, it.Close()) }()
	if it.Next() {
		return fmt.Errorf("%w: documents of a deleted partition key have not been removed yet: let the program "+
			"that wrote them run until it has", engine.ErrOlderFormat)
	}
	return nil
}

// placeFamily upgrades one family (kind of key) of a partition range to format 2: it replaces the LSNs in its
// keys and values by write sequences, which consist of an LSN and the position of the write in its
// transaction. It continues after the entries that are done according to p, and stores its progress.
func placeFamily(ctx context.Context, e engine.Engine, p sequenceConversionProgress) error {
	f := sequenceFamilies[p.Family]
	for more := true; more; {
		reached := p
		_, err := e.Update(ctx, [][]byte{host.CatalogScope()}, func(t engine.Txn) error {
			t.Enlarge()
			keys, values, err := lastEntries(t, f.family, p)
			if err != nil {
				return err
			}
			if reached, more = p, len(keys) > 0; !more {
				return nil
			}
			for i, key := range keys {
				for _, at := range f.at {
					if err := placeNumber(values[i], at); err != nil {
						return err
					}
				}
				if f.moves {
					t.Delete(key)
					key = bytes.Clone(key)
					if err := placeNumber(key, layout.ScopeLen+1); err != nil {
						return err
					}
				}
				t.Set(key, values[i])
			}
			reached.Key = keys[len(keys)-1]
			return host.SetRecord(t, progressKey(), reached)
		})
		if err != nil {
			return err
		}
		p = reached
	}
	return nil
}

// lastEntries returns copies of some keys and values of a family (a kind of key) of the partition range that
// the upgrade has reached: the last ones before p.Key, or at the end of the family if that is nil, in
// descending order.
func lastEntries(r engine.Reader, family byte,
	p sequenceConversionProgress) (keys, values [][]byte, err error) {
	rg := layout.ScopeFamily(layout.RangeScope(p.CID, p.Slot), family)
	if p.Key != nil {
		rg.End = p.Key
	}
	it := r.Scan(rg, true)
	defer func() { err = errors.Join(err, it.Close()) }()
	for size := 0; len(keys) < upgradeKeys && size < upgradeBytes && it.Next(); {
		keys, values = append(keys, bytes.Clone(it.Key())), append(values, bytes.Clone(it.Value()))
		size += len(it.Key()) + len(it.Value())
	}
	return keys, values, nil
}

// placeNumber replaces the sequence at offset at of b. In data format 1 it is a plain LSN; placeNumber writes
// the first sequence of that LSN in the current format.
func placeNumber(b []byte, at int) error {
	if len(b) < at+8 {
		return fmt.Errorf("%w: %d bytes instead of a sequence", engine.ErrCorrupt, len(b))
	}
	n := binary.BigEndian.Uint64(b[at:])
	if n > engine.MaxLSN {
		return fmt.Errorf("%w: the sequence %d", engine.ErrCorrupt, n)
	}
	binary.BigEndian.PutUint64(b[at:], uint64(layout.FirstOf(n)))
	return nil
}

// placeConfirmed converts the positions in the log of expiries up to which the webhooks of a container have
// confirmed events, from data format 1 to data format 2.
func placeConfirmed(ctx context.Context, e engine.Engine, p sequenceConversionProgress) error {
	_, err := e.Update(ctx, [][]byte{host.CatalogScope()}, func(t engine.Txn) (err error) {
		changed := map[string]string{}
		it := t.Scan(engine.Prefix(append(layout.AppendCID(nil, p.CID), layout.FamilyConfirmed)), false)
		for it.Next() && err == nil {
			changed[string(it.Key())], err = placePositions(string(it.Value()))
		}
		if err := errors.Join(err, it.Close()); err != nil {
			return err
		}
		for key, value := range changed {
			t.Set([]byte(key), []byte(value))
		}
		return host.SetRecord(t, progressKey(), p)
	})
	return err
}

// placePositions converts a stored feed position of format 1, such as "12" or "0:12,3:7" (LSNs, by range), to
// format 2: each LSN becomes the first sequence of that LSN.
func placePositions(text string) (string, error) {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		colon := strings.IndexByte(part, ':') + 1
		n, err := strconv.ParseUint(part[colon:], 10, 64)
		if err != nil || n > engine.MaxLSN {
			return "", fmt.Errorf("%w: the position %q", engine.ErrCorrupt, text)
		}
		parts[i] = part[:colon] + strconv.FormatUint(uint64(layout.FirstOf(n)), 10)
	}
	return strings.Join(parts, ","), nil
}
