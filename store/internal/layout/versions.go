package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
)

// AllVersionsFeedEntry is one entry of the feed of all versions (family v). Its key holds the sequence of the
// change.
//
//	 0     1      2      4     12           20     28          30             38              46
//	+-----+------+-------+-----+-----------+------+-----------+--------------+---------------+
//	| ver | kind | range | rid | last      | crts |prev range | previous seq | previous _ts  |
//	+-----+------+-------+-----+-----------+------+-----------+--------------+---------------+
//	+---------------+--------------+--------------+-------------------+----------------+
//	| len | EPK     | len | key    | len | id     | len | current     | previous       |
//	+---------------+--------------+--------------+-------------------+----------------+
//	 uvarint         ordered        deletes only   JSON, header-less   the same, to the end
//
// An entry of version 2 is written by an import. It stores the item's _ts in 8 bytes, after the previous _ts.
//
// The system properties of an image are derived from the other fields: its etag from range and sequence, its
// _rid from rid. last is the last sequence of the entry's transaction. A page of the feed never ends before
// it, and its LSN identifies the change.
type AllVersionsFeedEntry struct {
	Kind     uint8 // Created, Replaced, Deleted, Expired or Floor
	Range    uint16
	RID      uint64
	Last     WriteSequence
	TS       int64
	Dated    int64 // the item's _ts if it differs from TS; else 0
	Previous PreviousImage
	EPK, PK  []byte
	ID       string // of the item, if Body is nil; else the id is in Body
	Body     []byte // nil for a delete
}

// PreviousImage is the version of an item before a change. Sequence is 0 if there was none; Body is empty if
// it was not kept.
type PreviousImage struct {
	Range    uint16
	Sequence WriteSequence
	TS       int64
	Body     []byte
}

// The kinds of entries of the feed of all versions.
const (
	Created  = 1 // the item was created
	Replaced = 2 // replaced, by any operation
	Deleted  = 3 // deleted by itself or with its whole partition key
	Expired  = 4 // purged after its time to live, or its expiry recorded in the log of expiries
	// Floor is the kind of the entry at the lower end of the feed, which says that older entries have been
	// removed.
	Floor = 5
)

const (
	versionFormat = 1
	versionDated  = 2
	versionFixed  = 46
)

// Append appends the encoding of the entry of the feed of all versions, which is stored as its value.
func (v *AllVersionsFeedEntry) Append(dst []byte) []byte {
	format := byte(versionFormat)
	if v.Dated != 0 {
		format = versionDated
	}
	dst = append(dst, format, v.Kind)
	dst = binary.BigEndian.AppendUint16(dst, v.Range)
	dst = binary.BigEndian.AppendUint64(dst, v.RID)
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Last))
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.TS))
	dst = binary.BigEndian.AppendUint16(dst, v.Previous.Range)
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Previous.Sequence))
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.Previous.TS))
	if v.Dated != 0 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.Dated))
	}
	for _, part := range [...][]byte{v.EPK, v.PK, []byte(v.ID), v.Body} {
		dst = binary.AppendUvarint(dst, uint64(len(part)))
		dst = append(dst, part...)
	}
	return append(dst, v.Previous.Body...)
}

// Size returns an upper bound of the number of bytes that Append appends.
func (v *AllVersionsFeedEntry) Size() int {
	return versionFixed + 8 + 4*binary.MaxVarintLen32 + len(v.EPK) + len(v.PK) + len(v.ID) + len(v.Body) +
		len(v.Previous.Body)
}

// DecodeVersion decodes the value of an entry of the feed of all versions. The byte slices of the result are
// slices of value.
func DecodeVersion(value []byte) (AllVersionsFeedEntry, error) {
	if len(value) < versionFixed {
		return AllVersionsFeedEntry{}, fmt.Errorf("%w: a version of %d bytes", engine.ErrCorrupt, len(value))
	}
	if value[0] != versionFormat && value[0] != versionDated {
		return AllVersionsFeedEntry{}, fmt.Errorf("%w: a version of format %d", engine.ErrNewerFormat,
			value[0])
	}
	v := AllVersionsFeedEntry{
		Kind:  value[1],
		Range: binary.BigEndian.Uint16(value[2:]),
		RID:   binary.BigEndian.Uint64(value[4:]),
		Last:  WriteSequence(binary.BigEndian.Uint64(value[12:])),
		TS:    int64(binary.BigEndian.Uint64(value[20:])),
		Previous: PreviousImage{
			Range:    binary.BigEndian.Uint16(value[28:]),
			Sequence: WriteSequence(binary.BigEndian.Uint64(value[30:])),
			TS:       int64(binary.BigEndian.Uint64(value[38:])),
		},
	}
	rest := value[versionFixed:]
	if value[0] == versionDated {
		if len(rest) < 8 {
			return AllVersionsFeedEntry{}, fmt.Errorf("%w: a version of %d bytes", engine.ErrCorrupt,
				len(value))
		}
		v.Dated, rest = int64(binary.BigEndian.Uint64(rest)), rest[8:]
	}
	var id []byte
	for _, part := range [...]*[]byte{&v.EPK, &v.PK, &id, &v.Body} {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return AllVersionsFeedEntry{}, fmt.Errorf("%w: a version of %d bytes", engine.ErrCorrupt,
				len(value))
		}
		end := used + int(n)
		*part, rest = rest[used:end:end], rest[end:]
	}
	v.ID, v.Previous.Body = string(id), rest
	return v, nil
}

// VersionEPK returns the effective partition key of an entry of the feed of all versions (family v), a slice
// of value. It returns nil for a floor, the entry that stands for all older ones that were removed; a split
// copies it to both halves.
func VersionEPK(value []byte) ([]byte, error) {
	v, err := DecodeVersion(value)
	if err != nil || v.Kind == Floor {
		return nil, err
	}
	return v.EPK, nil
}

// WrittenAt returns the _ts of the item after the change.
func (v *AllVersionsFeedEntry) WrittenAt() int64 {
	if v.Dated != 0 {
		return v.Dated
	}
	return v.TS
}

// ExpiryLogEntry is one entry of the log of expiries (family e). Its key holds the entry's sequence.
//
//	 0             8
//	+-------------+------------------------------------------+
//	| expired at  | the item, as an AllVersionsFeedEntry     |
//	+-------------+------------------------------------------+
//
// The item is encoded like an entry of kind Expired in the feed of all versions. A floor, the entry that
// stands for all older ones that were removed, is stored in the same form, with the kind Floor.
type ExpiryLogEntry struct {
	At int64 // the second from which on the item was expired
	AllVersionsFeedEntry
}

// ExpiryFixed is the length in bytes of the part of an ExpiryLogEntry before its AllVersionsFeedEntry.
const ExpiryFixed = 8

// Append appends the encoding of the entry of the log of expiries, which is stored as its value.
func (e *ExpiryLogEntry) Append(dst []byte) []byte {
	return e.AllVersionsFeedEntry.Append(binary.BigEndian.AppendUint64(dst, uint64(e.At)))
}

// DecodeExpiry decodes the value of an entry of the log of expiries. The byte slices of the result are slices
// of value.
func DecodeExpiry(value []byte) (e ExpiryLogEntry, err error) {
	if len(value) < ExpiryFixed {
		return e, fmt.Errorf("%w: an expiry of %d bytes", engine.ErrCorrupt, len(value))
	}
	e.At = int64(binary.BigEndian.Uint64(value))
	e.AllVersionsFeedEntry, err = DecodeVersion(value[ExpiryFixed:])
	return e, err
}

// ExpiryEPK returns the effective partition key of an entry of the log of expiries (family e). It returns nil
// for a floor, the entry that stands for all older ones that were removed.
func ExpiryEPK(value []byte) ([]byte, error) {
	if len(value) < ExpiryFixed {
		return nil, fmt.Errorf("%w: an expiry of %d bytes", engine.ErrCorrupt, len(value))
	}
	return VersionEPK(value[ExpiryFixed:])
}
