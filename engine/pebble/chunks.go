package pebble

import (
	"encoding/binary"
	"hash/crc32"
)

// Logs and manifests are sequences of chunks. A chunk never crosses the boundary of a 32 KB block. If the
// rest of a block has no room for another header, it is zero. (The format is that of
// github.com/cockroachdb/pebble/v2/record.)
//
//	manifest: checksum 4 · length 2 · type 1 · payload                                     type 1 to 4
//	log:      checksum 4 · length 2 · type 1 · number of the log 4 · payload               type 5 to 8
//	          checksum 4 · length 2 · type 1 · number of the log 4 · synced 8 · payload    type 9 to 12
//
// All numbers are little-endian. The checksum covers everything from the type on. Of each group of four
// types, the first is a whole record; the others are the first, a middle and the last part of a record. A log
// file that Pebble reuses holds chunks of older logs behind its own; the number of the log distinguishes
// them.
const (
	chunkBlock  = 32 << 10
	chunkHeader = 7  // of a chunk in a manifest
	logHeader   = 19 // of a chunk in a log: the longest

	chunkFull   = 1
	chunkFirst  = 2
	logChunk    = 5 // the first type of a log chunk
	syncedChunk = 9 // the first type of a log chunk that stores how far the log is synced
	chunkTypes  = 13
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordChunkHeader is the header of one piece of a log or a manifest, with the position of its payload.
type recordChunkHeader struct {
	kind byte
	log  uint32 // 0 in a manifest
	sync int64  // offset to which the log was synced when the chunk was written; 0: not stored
	end  int    // offset where the next chunk may begin
	n    int    // length of the payload
}

// chunkAt reads the chunk that begins at an offset. ok is true if the chunk is complete and its checksum is
// right.
func chunkAt(data []byte, at int) (c recordChunkHeader, ok bool) {
	if at+chunkHeader > len(data) {
		return c, false
	}
	c.kind = data[at+6]
	header := chunkHeader
	switch {
	case c.kind == 0 || c.kind >= chunkTypes:
		return c, false
	case c.kind >= syncedChunk:
		header = logHeader
	case c.kind >= logChunk:
		header = chunkHeader + 4
	}
	c.n = int(binary.LittleEndian.Uint16(data[at+4:]))
	c.end = at + header + c.n
	if c.end > len(data) || c.end > (at/chunkBlock+1)*chunkBlock {
		return c, false
	}
	if header > chunkHeader {
		c.log = binary.LittleEndian.Uint32(data[at+chunkHeader:])
	}
	if header == logHeader {
		c.sync = int64(binary.LittleEndian.Uint64(data[at+chunkHeader+4:]))
	}
	sum := crc32.Checksum(data[at+6:c.end], castagnoli)
	return c, (sum>>15|sum<<17)+0xa282ead8 == binary.LittleEndian.Uint32(data[at:])
}

// nextChunk returns the offset of the first chunk at or after from that has a payload and for which want
// returns true, or -1. from need not be the start of a chunk.
func nextChunk(data []byte, from int, want func(recordChunkHeader) bool) int {
	for at := from; at+chunkHeader < len(data); at++ {
		if kind := data[at+6]; kind == 0 || kind >= chunkTypes {
			continue
		}
		if c, ok := chunkAt(data, at); ok && c.n > 0 && want(c) {
			return at
		}
	}
	return -1
}

// logEnd returns the offset behind the last readable chunk of a log, whether or not the log was ended
// properly.
func logEnd(data []byte, number uint32) int {
	for at := 0; ; {
		if c, ok := chunkAt(data, at); ok && c.log == number && c.kind >= logChunk {
			at = c.end
			continue
		}
		rest := chunkBlock - at%chunkBlock
		if rest >= logHeader || at+rest > len(data) || !zero(data[at:at+rest]) {
			return at
		}
		at += rest
	}
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
