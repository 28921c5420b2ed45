package pebble

import (
	"encoding/binary"
	"hash/crc32"
)

// Logs and manifests are sequences of chunks, none of which crosses a block of 32 KB. What is left of a block
// that has no room for another header is zero. (github.com/cockroachdb/pebble/v2/record, in its own words.)
//
//	manifest: checksum 4 · length 2 · type 1 · payload                                     type 1 to 4
//	log:      checksum 4 · length 2 · type 1 · number of the log 4 · payload               type 5 to 8
//	          checksum 4 · length 2 · type 1 · number of the log 4 · synced 8 · payload    type 9 to 12
//
// All is little-endian; the checksum is of all from the type on. Of each four types the first is a whole
// record, the others are its beginning, middle and end. A log file that is used again holds chunks of older
// logs behind its own, which the number tells.
const (
	chunkBlock  = 32 << 10
	chunkHeader = 7  // of a manifest
	logHeader   = 19 // of a log: the longest

	chunkFull   = 1
	chunkFirst  = 2
	logChunk    = 5 // the first type of a log's
	syncedChunk = 9 // the first type of a log's that reports how far it is synced
	chunkTypes  = 13
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is one chunk as its header tells.
type chunk struct {
	kind byte
	log  uint32 // 0 in a manifest
	sync int64  // how far the log was synced when it was written; 0: it does not tell
	end  int    // where the next one may begin
	n    int    // of the payload
}

// chunkAt reads the chunk that begins at an offset; ok reports that there is one, whole and with its checksum
// right.
func chunkAt(data []byte, at int) (c chunk, ok bool) {
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

// nextChunk finds the first chunk with a payload that begins at or behind an offset and that want accepts;
// -1: none does. The offset need not be the start of anything.
func nextChunk(data []byte, from int, want func(chunk) bool) int {
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

// logEnd walks the chunks of a log up to where they end, in good order or not.
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
