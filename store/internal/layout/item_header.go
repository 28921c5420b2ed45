package layout

import (
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// ItemHeader is the part of an item that can be read without parsing its JSON. It determines whether the item
// has expired, its etag, and to which feed ranges it belongs.
//
//	 0     1      2      4            12            20    24           28             36    37
//	+-----+------+-------+-----------+-------------+-----+------------+--------------+-----+-----+------+
//	| ver | flag | range | sequence  |     _ts     | ttl | generation |  leaseUntil  | len | EPK | body |
//	+-----+------+-------+-----------+-------------+-----+------------+--------------+-----+-----+------+
//
// An item whose life is Based or Ended (see ttl.Lifetime) has version 2 and stores its base, the second from
// which its time to live counts, between EPK and body:
//
//	 len | EPK | base | body
//	+-----+-----+------+------+
//	   1    len    8
//
// range is the range that issued the sequence. The etag consists of the container's incarnation, range and
// sequence, so it stays the same when the item moves to another range.
type ItemHeader struct {
	Range    uint16
	Sequence WriteSequence
	Life     ttl.Lifetime
	EPK      []byte

	Announced bool // its expiry is in the log of expiries: see store/events.go
	Renamed   bool // it has had another id: a reader that has found it by its id must compare the id
	Plain     bool // it was written without system properties: see store.WriteOptions
}

const (
	itemVersion      = 1
	itemVersionBased = 2
	itemBaseLen      = 8

	// HeaderFixed is the length of a header without the EPK and the base, in bytes.
	HeaderFixed = 37

	// itemAnnounced and the following constants are the flags of an ItemHeader, one bit each. itemAnnounced
	// means that the expiry of the item is already in the log of expiries.
	itemAnnounced = 1
	itemRenamed   = 2
	itemEnded     = 4 // version 2: the base is the second in which the item had expired
	itemPlain     = 8
)

// HasBase reports whether the header has a base, which is stored between the EPK and the body: the second
// from which the item's time to live counts, if that is not _ts, or in which the item had already expired
// when the ttlPropertyPath was changed.
func (h *ItemHeader) HasBase() bool { return h.Life.Based || h.Life.Ended }

// Len is the length of the header in bytes.
func (h *ItemHeader) Len() int {
	n := HeaderFixed + len(h.EPK)
	if h.HasBase() {
		n += itemBaseLen
	}
	return n
}

// Append appends the encoded header, which is stored before an item's body.
func (h ItemHeader) Append(dst []byte) []byte {
	flags := byte(0)
	if h.Announced {
		flags |= itemAnnounced
	}
	if h.Renamed {
		flags |= itemRenamed
	}
	if h.Plain {
		flags |= itemPlain
	}
	version := byte(itemVersion)
	if h.HasBase() {
		version = itemVersionBased
	}
	if h.Life.Ended {
		flags |= itemEnded
	}
	dst = append(dst, version, flags)
	dst = binary.BigEndian.AppendUint16(dst, h.Range)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.Sequence))
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.Life.TS))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Life.Own))
	dst = binary.BigEndian.AppendUint32(dst, h.Life.Generation)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.Life.LeaseUntil))
	dst = append(dst, byte(len(h.EPK)))
	dst = append(dst, h.EPK...)
	if h.HasBase() {
		dst = binary.BigEndian.AppendUint64(dst, uint64(h.Life.Base))
	}
	return dst
}

// DecodeItem splits a stored value into header and body. The header's EPK and the body are slices of
// value.
func DecodeItem(value []byte) (h ItemHeader, body []byte, err error) {
	if len(value) < HeaderFixed || len(value) < HeaderFixed+int(value[HeaderFixed-1]) {
		return h, nil, fmt.Errorf("%w: an item of %d bytes", engine.ErrCorrupt, len(value))
	}
	n := HeaderFixed + int(value[HeaderFixed-1])
	h.Range = binary.BigEndian.Uint16(value[2:])
	h.Sequence = WriteSequence(binary.BigEndian.Uint64(value[4:]))
	h.Life.TS = int64(binary.BigEndian.Uint64(value[12:]))
	h.Life.Own = ttl.Seconds(binary.BigEndian.Uint32(value[20:]))
	h.Life.Generation = binary.BigEndian.Uint32(value[24:])
	h.Life.LeaseUntil = int64(binary.BigEndian.Uint64(value[28:]))
	h.EPK = value[HeaderFixed:n:n]
	h.Announced = value[1]&itemAnnounced != 0
	h.Renamed = value[1]&itemRenamed != 0
	h.Plain = value[1]&itemPlain != 0
	if value[0] == itemVersion {
		return h, value[n:], nil
	}
	body, err = h.decodeBase(value, n)
	return h, body, err
}

// decodeBase reads the base of a version 2 header, the second from which the time to live counts (see
// HasBase). It follows the first n bytes of value. decodeBase returns the body, which follows the base.
func (h *ItemHeader) decodeBase(value []byte, n int) (body []byte, err error) {
	if value[0] != itemVersionBased {
		return nil, fmt.Errorf("%w: an item of format %d", engine.ErrNewerFormat, value[0])
	}
	if len(value) < n+itemBaseLen {
		return nil, fmt.Errorf("%w: an item of %d bytes", engine.ErrCorrupt, len(value))
	}
	h.Life.Base = int64(binary.BigEndian.Uint64(value[n:]))
	h.Life.Ended = value[1]&itemEnded != 0
	h.Life.Based = !h.Life.Ended
	return value[n+itemBaseLen:], nil
}

// FeedEntry is the value of an entry of the latest-version change feed.
//
//	 0     8            16    24     25
//	+-----+------------+-----+------+----------------+
//	| rid | last       | _ts | flag | EPK, 16 bytes or less |
//	+-----+------------+-----+------+----------------+
//
// last is the last sequence of the entry's transaction. A page of the feed never ends before it, and its
// LSN identifies the change.
type FeedEntry struct {
	RID  uint64
	Last WriteSequence
	TS   int64
	EPK  []byte
}

const (
	feedFixed    = 25
	feedEPKBytes = 16
)

// Append appends the encoding of the feed entry, which is stored as the entry's value.
func (f FeedEntry) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, f.RID)
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.Last))
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.TS))
	dst = append(dst, 0)
	return append(dst, f.EPK[:min(len(f.EPK), feedEPKBytes)]...)
}

// DecodeFeed decodes the value of a feed entry. It returns engine.ErrCorrupt if the value is too short.
func DecodeFeed(value []byte) (FeedEntry, error) {
	if len(value) < feedFixed {
		return FeedEntry{}, fmt.Errorf("%w: a feed entry of %d bytes", engine.ErrCorrupt, len(value))
	}
	return FeedEntry{
		RID:  binary.BigEndian.Uint64(value),
		Last: WriteSequence(binary.BigEndian.Uint64(value[8:])),
		TS:   int64(binary.BigEndian.Uint64(value[16:])),
		EPK:  value[feedFixed:],
	}, nil
}
