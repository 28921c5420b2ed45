package hybridrowtest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"
)

// Parts of batch requests that the .NET SDK has written in its binary HybridRow encoding, in hexadecimal: the
// segment row at the beginning of a stream, the record row and the body row of a create of {"id":"1"}, and
// the body row of a delete of item 1 with the condition that its etag is "e".
const (
	Segment    = "81 f0 d8 ff 7f 01 0a 00 00 00"
	CreateHead = "81 f1 d8 ff 7f 19 00 00 00 83 2f cd f9"
	Create     = "81 70 54 e1 7f 43 00 00 00 00 02 00 00 00 0a 7b 22 69 64 22 3a 22 31 22 7d"
	Delete     = "81 70 54 e1 7f 13 04 00 00 00 02 00 00 00 01 31 14 09 03 22 65 22"
)

var (
	recordRow = []byte{0x81, 0xf1, 0xd8, 0xff, 0x7f}
	resultRow = []byte{0x81, 0x71, 0x54, 0xe1, 0x7f}
)

// Bytes decodes hexadecimal text, which may contain blanks.
func Bytes(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Record returns row with a record row before it: the HybridRow that contains the length and the checksum
// of row.
func Record(row []byte) []byte {
	head := binary.LittleEndian.AppendUint32(bytes.Clone(recordRow), uint32(len(row)))
	return append(binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(row)), row...)
}

// BatchOperationResult is the result of one operation of a transactional batch, as a HybridRow response
// contains it.
type BatchOperationResult struct {
	Status, Substatus uint32
	ETag, Body        string
	Charge            float64
}

// Results decodes the HybridRow response to a transactional batch.
func Results(t testing.TB, stream []byte) (list []BatchOperationResult) {
	t.Helper()
	rest, ok := bytes.CutPrefix(stream, Bytes(t, Segment))
	if !ok {
		t.Fatalf("no stream of rows: %x", stream)
	}
	for len(rest) > 0 {
		head, ok := bytes.CutPrefix(rest, recordRow)
		if !ok || len(head) < 8 {
			t.Fatalf("not a record: %x", rest)
		}
		n, sum := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
		if uint64(n) > uint64(len(head)-8) || crc32.ChecksumIEEE(head[8:8+n]) != sum {
			t.Fatalf("a record of another length or checksum: %x", rest)
		}
		r, err := result(head[8 : 8+n])
		if err != nil {
			t.Fatal(err)
		}
		list, rest = append(list, r), head[8+n:]
	}
	return list
}

// result decodes the HybridRow with the result of one operation of a batch: presence bits, status,
// substatus, then etag and body if they are present, then sparse columns; the last of these is the charge.
func result(row []byte) (r BatchOperationResult, err error) {
	fields, ok := bytes.CutPrefix(row, resultRow)
	if !ok || len(fields) < 9 {
		return r, fmt.Errorf("not a result: %x", row)
	}
	has := fields[0]
	r.Status, r.Substatus = binary.LittleEndian.Uint32(fields[1:]), binary.LittleEndian.Uint32(fields[5:])
	fields = fields[9:]
	for i, to := range []*string{&r.ETag, &r.Body} {
		if has&(4<<i) == 0 {
			continue
		}
		n, size := binary.Uvarint(fields)
		if size <= 0 || n > uint64(len(fields)-size) {
			return r, fmt.Errorf("a column that ends early: %x", row)
		}
		*to, fields = string(fields[size:size+int(n)]), fields[size+int(n):]
	}
	if len(fields) != 10 || fields[0] != 16 || fields[1] != 6 {
		return r, fmt.Errorf("sparse columns %x", fields)
	}
	r.Charge = math.Float64frombits(binary.LittleEndian.Uint64(fields[2:]))
	return r, nil
}
