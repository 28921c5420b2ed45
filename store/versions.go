package store

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// A container whose change feed policy has a retention keeps every version of its items, and their deletes,
// for that long: the family v, one entry for each LSN that a write, a delete or a purge took. Whether an
// entry is inside of the window is decided when it is read, by its time, as it is for expiry; the reaper only
// frees the space of what is outside.
//
// A reader is refused where an entry that it has not seen lies outside of the window, not where its position
// is merely old: a reader of a quiet range may sleep as long as it likes. To be able to tell, the newest
// entry outside of the window stays when the older ones are freed, with its content taken out. Such an entry
// is a floor: what was before it cannot be read, whatever the retention becomes. Turning the policy on sets a
// floor, too. So a range has one floor at most, and it is the range's first entry.

// version is one entry of the family v. Its key holds the LSN of the change.
//
//	 0     1      2      4     12           20     28          30             38              46
//	+-----+------+------+-----+------------+------+-----------+--------------+---------------+
//	| ver | kind | slot | rid | lastLSN    | crts | prev slot | previous LSN | previous _ts  |
//	+-----+------+------+-----+------------+------+-----------+--------------+---------------+
//	+---------------+--------------+--------------+-------------------+----------------+
//	| len | EPK     | len | key    | len | id     | len | current     | previous       |
//	+---------------+--------------+--------------+-------------------+----------------+
//	 uvarint         ordered        deletes only   JSON, header-less   the same, to the end
//
// An entry of version 2 is that of an import: it has the item's _ts, in 8 bytes, behind the previous one's.
//
// What of an image is not in its JSON is made of the rest: its etag of the slot and the LSN, its _rid of the
// rid. lastLSN is the last LSN of the entry's transaction: a page of the feed never ends before it.
type version struct {
	kind     ChangeKind
	slot     uint16
	rid      uint64
	last     uint64
	ts       int64
	dated    int64 // the item's _ts where it is not ts; else 0
	previous image
	epk, pk  []byte
	id       string // of a delete; else it is in the body
	body     []byte // nil for a delete
}

// image is the version before a change: lsn is 0 where there was none, body is empty where it was not kept.
type image struct {
	slot uint16
	lsn  uint64
	ts   int64
	body []byte
}

const (
	versionFormat = 1
	versionDated  = 2
	versionFixed  = 46
)

func (v *version) append(dst []byte) []byte {
	format := byte(versionFormat)
	if v.dated != 0 {
		format = versionDated
	}
	dst = append(dst, format, byte(v.kind))
	dst = binary.BigEndian.AppendUint16(dst, v.slot)
	dst = binary.BigEndian.AppendUint64(dst, v.rid)
	dst = binary.BigEndian.AppendUint64(dst, v.last)
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.ts))
	dst = binary.BigEndian.AppendUint16(dst, v.previous.slot)
	dst = binary.BigEndian.AppendUint64(dst, v.previous.lsn)
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.previous.ts))
	if v.dated != 0 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.dated))
	}
	for _, part := range [...][]byte{v.epk, v.pk, []byte(v.id), v.body} {
		dst = binary.AppendUvarint(dst, uint64(len(part)))
		dst = append(dst, part...)
	}
	return append(dst, v.previous.body...)
}

// size is how many bytes append appends, or a few more.
func (v *version) size() int {
	return versionFixed + 8 + 4*binary.MaxVarintLen32 + len(v.epk) + len(v.pk) + len(v.id) + len(v.body) + len(v.previous.body)
}

// decodeVersion takes an entry apart. All slices are slices of value.
func decodeVersion(value []byte) (version, error) {
	if len(value) < versionFixed {
		return version{}, fmt.Errorf("%w: a version of %d bytes", engine.ErrCorrupt, len(value))
	}
	if value[0] != versionFormat && value[0] != versionDated {
		return version{}, fmt.Errorf("%w: a version of format %d", engine.ErrNewerFormat, value[0])
	}
	v := version{
		kind: ChangeKind(value[1]),
		slot: binary.BigEndian.Uint16(value[2:]),
		rid:  binary.BigEndian.Uint64(value[4:]),
		last: binary.BigEndian.Uint64(value[12:]),
		ts:   int64(binary.BigEndian.Uint64(value[20:])),
		previous: image{
			slot: binary.BigEndian.Uint16(value[28:]),
			lsn:  binary.BigEndian.Uint64(value[30:]),
			ts:   int64(binary.BigEndian.Uint64(value[38:])),
		},
	}
	rest := value[versionFixed:]
	if value[0] == versionDated {
		if len(rest) < 8 {
			return version{}, fmt.Errorf("%w: a version of %d bytes", engine.ErrCorrupt, len(value))
		}
		v.dated, rest = int64(binary.BigEndian.Uint64(rest)), rest[8:]
	}
	var id []byte
	for _, part := range [...]*[]byte{&v.epk, &v.pk, &id, &v.body} {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return version{}, fmt.Errorf("%w: a version of %d bytes", engine.ErrCorrupt, len(value))
		}
		end := used + int(n)
		*part, rest = rest[used:end:end], rest[end:]
	}
	v.id, v.previous.body = string(id), rest
	return v, nil
}

// versionEPK is the effective partition key of an entry of the family v, a slice of value; nil for a floor,
// which holds for every range that its range becomes.
func versionEPK(value []byte) ([]byte, error) {
	v, err := decodeVersion(value)
	if err != nil || v.kind == changeFloor {
		return nil, err
	}
	return v.epk, nil
}

// lastVersionTime is the time of a slot's newest version; 0 where it has none.
func lastVersionTime(r engine.Reader, scope []byte) (ts int64, err error) {
	it := r.Scan(layout.SlotFamily(scope, layout.FamilyVersions), true)
	if it.Next() {
		var v version
		v, err = decodeVersion(it.Value())
		ts = v.ts
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return ts, err
}

// retention is for how many seconds the container keeps all versions; 0 where it does not.
func (st *containerState) retention() int64 {
	if st.spec.ChangeFeed == nil {
		return 0
	}
	return 60 * int64(st.spec.ChangeFeed.RetentionMinutes)
}

// switchVersions is the part of a change of the policy that turns the feed of all versions on or off: the
// scopes that it needs besides, and what it writes there. The caller holds the container's gate exclusively.
func switchVersions(old, next *containerState, now int64) (scopes [][]byte, write func(engine.Txn)) {
	on := next.retention() > 0
	if on == (old.retention() > 0) {
		return nil, func(engine.Txn) {}
	}
	for _, s := range next.ranges {
		scopes = append(scopes, s.scope)
	}
	return scopes, func(t engine.Txn) {
		for _, s := range next.ranges {
			if on {
				setFloor(t, s.scope, t.NextLSN(s.scope), now)
			} else {
				dropVersions(t, layout.SlotFamily(s.scope, layout.FamilyVersions))
			}
		}
	}
}

// trimVersions frees entries of a slot that lie outside of the window. next is the second at which there will
// be more.
func (c *Container) trimVersions(ctx context.Context, st *containerState, s *slot, now int64) (more bool, next int64, err error) {
	old, err := c.outgrown(ctx, s, layout.FamilyVersions, st.retention(), now, decodeVersion)
	if err != nil || old.last == 0 {
		return false, old.next, err
	}
	st, _, err = c.enter(ctx)
	if err != nil {
		return false, old.next, err
	}
	defer c.leave()
	_, err = c.db.eng.Update(ctx, [][]byte{s.scope}, func(txn engine.Txn) error {
		var t tx
		t.begin(txn, c, st, s)
		t.Relax()
		return t.raiseFloor(old.last)
	})
	return old.more, now + 1, err
}

// raiseFloor makes the entry of an LSN the floor, unless the policy has changed and it is inside of the
// window now.
func (t *tx) raiseFloor(lsn uint64) error {
	value, err := t.Get(layout.AppendSlotKey(nil, t.s.scope, layout.FamilyVersions, lsn))
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	v, err := decodeVersion(value)
	if err != nil || v.ts > t.now-t.st.retention() {
		return err
	}
	below := layout.SlotFamily(t.s.scope, layout.FamilyVersions)
	below.End = layout.AppendSlotKey(nil, t.s.scope, layout.FamilyVersions, lsn)
	dropVersions(t.Txn, below)
	setFloor(t.Txn, t.s.scope, lsn, v.ts)
	return nil
}
