package store

import (
	"encoding/binary"
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// header is what is known of an item without reading its JSON: expiry, etag and membership of a feed range
// are decided from it.
//
//	 0     1      2      4            12            20    24           28             36    37
//	+-----+------+------+------------+-------------+-----+------------+--------------+-----+-----+------+
//	| ver | flag | slot |    lsn     |     _ts     | ttl | generation |  leaseUntil  | len | EPK | body |
//	+-----+------+------+------------+-------------+-----+------------+--------------+-----+-----+------+
//
// slot is the slot that issued the LSN: with the incarnation of the container the two make the etag, which
// must survive a move of the item to another slot.
type header struct {
	slot uint16
	lsn  uint64
	life ttl.Life
	epk  []byte

	announced bool // its expiry is in the log of expiries: see events.go
	renamed   bool // it has had another id: who came to it by an id must look whether it is this one
}

const (
	itemVersion = 1
	headerFixed = 37

	// Flags.
	itemAnnounced = 1
	itemRenamed   = 2
)

func (h header) append(dst []byte) []byte {
	flags := byte(0)
	if h.announced {
		flags |= itemAnnounced
	}
	if h.renamed {
		flags |= itemRenamed
	}
	dst = append(dst, itemVersion, flags)
	dst = binary.BigEndian.AppendUint16(dst, h.slot)
	dst = binary.BigEndian.AppendUint64(dst, h.lsn)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.life.TS))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.life.Own))
	dst = binary.BigEndian.AppendUint32(dst, h.life.Generation)
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.life.LeaseUntil))
	dst = append(dst, byte(len(h.epk)))
	return append(dst, h.epk...)
}

// decodeItem splits a stored value. The header's EPK and the body are slices of value.
func decodeItem(value []byte) (header, []byte, error) {
	if len(value) < headerFixed || len(value) < headerFixed+int(value[headerFixed-1]) {
		return header{}, nil, fmt.Errorf("%w: an item of %d bytes", engine.ErrCorrupt, len(value))
	}
	if value[0] != itemVersion {
		return header{}, nil, fmt.Errorf("%w: an item of format %d", engine.ErrNewerFormat, value[0])
	}
	n := headerFixed + int(value[headerFixed-1])
	return header{
		slot: binary.BigEndian.Uint16(value[2:]),
		lsn:  binary.BigEndian.Uint64(value[4:]),
		life: ttl.Life{
			TS:         int64(binary.BigEndian.Uint64(value[12:])),
			Own:        ttl.Seconds(binary.BigEndian.Uint32(value[20:])),
			Generation: binary.BigEndian.Uint32(value[24:]),
			LeaseUntil: int64(binary.BigEndian.Uint64(value[28:])),
		},
		epk:       value[headerFixed:n:n],
		announced: value[1]&itemAnnounced != 0,
		renamed:   value[1]&itemRenamed != 0,
	}, value[n:], nil
}

// feedEntry is the value of an entry of the latest-version change feed.
//
//	 0     8            16    24     25
//	+-----+------------+-----+------+----------------+
//	| rid | lastLSN    | _ts | flag | EPK, 16 bytes or less |
//	+-----+------------+-----+------+----------------+
//
// lastLSN is the last LSN of the entry's transaction: a page of the feed never ends before it.
type feedEntry struct {
	rid, last uint64
	ts        int64
	epk       []byte
}

const (
	feedFixed    = 25
	feedEPKBytes = 16
)

func (f feedEntry) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, f.rid)
	dst = binary.BigEndian.AppendUint64(dst, f.last)
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.ts))
	dst = append(dst, 0)
	return append(dst, f.epk[:min(len(f.epk), feedEPKBytes)]...)
}

func decodeFeed(value []byte) (feedEntry, error) {
	if len(value) < feedFixed {
		return feedEntry{}, fmt.Errorf("%w: a feed entry of %d bytes", engine.ErrCorrupt, len(value))
	}
	return feedEntry{
		rid:  binary.BigEndian.Uint64(value),
		last: binary.BigEndian.Uint64(value[8:]),
		ts:   int64(binary.BigEndian.Uint64(value[16:])),
		epk:  value[feedFixed:],
	}, nil
}
