package cosmos

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/mayflydb/mayfly/store"
)

// The SDK for .NET sends a batch, and expects the response, as a stream of "HybridRow" rows (RecordIO), even
// in gateway mode. All integers are little-endian. A varuint has 7 bits per byte, the lowest first, and 0x80
// set on all bytes but the last.
//
//	 0    1          5
//	+----+----------+-----------------------+
//	| 81 | schema   | columns by the schema |   a row
//	+----+----------+-----------------------+
//
// A stream consists of a segment row and then, for each operation, a record row and a body row. Several
// segments may follow each other.
//
//	 0    1             5    6        10
//	+----+-------------+----+--------+
//	| 81 | f0 d8 ff 7f | 01 | length |                  segment; length includes the row itself
//	+----+-------------+----+--------+
//	 0    1             5        9       13
//	+----+-------------+--------+-------+
//	| 81 | f1 d8 ff 7f | length | crc32 |               record: of the body row that follows
//	+----+-------------+--------+-------+
//	 0    1             5          6      10     14
//	+----+-------------+----------+------+------+----------+--------+
//	| 81 | schema      | presence | int  | int  | variable | sparse |   body row
//	+----+-------------+----------+------+------+----------+--------+
//
// The bits of the presence byte, lowest first, say which fixed and variable columns a body row has. Space
// for the two fixed columns is always there; of the variable columns (varuint length, bytes) only those
// present follow. Sparse columns fill the rest of the row, each with a type code, a varuint path token, and
// a value.

const (
	rowStart      = 0x81
	rowHeader     = 5
	segmentLength = 10
	recordLength  = 13

	segmentSchema = 2147473648
	recordSchema  = 2147473649
	requestSchema = 2145473648
	resultSchema  = 2145473649
)

// Columns of an operation in a batch request, as HybridRow: presence bits, and path tokens of sparse columns.
const (
	hasOperationType = 1 << iota
	hasResourceType
	hasPartitionKey
	hasEffectivePartitionKey
	hasID
	hasBinaryID
	hasBody

	tokenIfMatch     = 9
	tokenIfNoneMatch = 10
	tokenMinimal     = 12
	requestTokens    = 13 // a token above this stands for a name of (token - requestTokens) bytes
)

// The columns of the HybridRow with the result of one operation in a batch response: the presence bits of
// fixed columns, and the path tokens of sparse columns.
const (
	hasStatus = 1 << iota
	hasSubstatus
	hasETag
	hasResultBody

	tokenRetryAfter = 5
	tokenCharge     = 6
)

// Type codes of sparse columns in a HybridRow.
const (
	typeNull    = 1
	typeFalse   = 2
	typeTrue    = 3
	typeInt8    = 5
	typeInt64   = 8
	typeUint8   = 9
	typeUint32  = 11
	typeUint64  = 12
	typeFloat32 = 15
	typeFloat64 = 16
	typeText    = 20
	typeBinary  = 21
)

// rowKinds maps the operation types of the .NET SDK's binary batch format (HybridRow) to those of the store.
var rowKinds = map[uint32]store.ItemOperationKind{
	0: store.OperationCreate, 1: store.OperationPatch, 2: store.OperationRead,
	4: store.OperationDelete, 5: store.OperationReplace, 20: store.OperationUpsert,
}

const documentType = 2 // resource type of items

// isRowStream reports whether a batch is a stream of rows rather than JSON.
func isRowStream(body []byte) bool { return len(body) > 0 && body[0] == rowStart }

// parseRowBatch parses a stream of rows. The error is a 400.
func parseRowBatch(body []byte) (list []batchOperation, err error) {
	r := hybridRowReader{rest: body}
	for len(r.rest) > 0 && r.err == nil {
		switch schema := r.header(); schema {
		case segmentSchema:
			r.byte()
			if n := r.uint32(); n >= segmentLength {
				r.take(uint64(n - segmentLength))
			} else {
				r.fail("a segment of %d bytes", n)
			}
		case recordSchema:
			n, sum := r.uint32(), r.uint32()
			row := r.take(uint64(n))
			if r.err == nil && crc32.ChecksumIEEE(row) != sum {
				r.fail("the checksum of record %d is wrong", len(list)+1)
			}
			if r.err != nil {
				break
			}
			w, err := parseRowOperation(row)
			if err != nil {
				return nil, err
			}
			list = append(list, w)
		default:
			r.fail("a row of schema %d", schema)
		}
	}
	return list, r.err
}

// parseRowOperation parses the HybridRow of one operation in a batch request.
func parseRowOperation(row []byte) (w batchOperation, err error) {
	r := hybridRowReader{rest: row}
	if schema := r.header(); schema != requestSchema {
		r.fail("an operation of schema %d", schema)
	}
	has := r.byte()
	kind, known := rowKinds[r.uint32()]
	if resource := r.uint32(); has&hasResourceType != 0 && resource != documentType {
		r.fail("a resource of type %d", resource)
	}
	if w.kind = kind; !known || has&hasOperationType == 0 {
		r.fail("an operation whose type is missing or unknown: %d", kind)
	}
	column := func(bit byte) []byte {
		if has&bit == 0 {
			return nil
		}
		return r.take(r.varuint())
	}
	w.partitionKey = string(column(hasPartitionKey))
	column(hasEffectivePartitionKey) // ignored, since it is derived from the partition key
	w.id = string(column(hasID))
	if id := column(hasBinaryID); w.id == "" {
		w.id = string(id)
	}
	w.body = column(hasBody)
	for len(r.rest) > 0 && r.err == nil {
		r.sparse(&w)
	}
	return w, r.err
}

// sparse reads the next sparse (optional) column of a row. It sets the field of w that the column stands for,
// and skips a column that the server does not use.
func (r *hybridRowReader) sparse(w *batchOperation) {
	code, token := r.byte(), r.varuint()
	if token >= requestTokens {
		r.take(token - requestTokens) // the name of a column that this schema does not have
	}
	var value []byte
	switch {
	case code == typeNull || code == typeFalse || code == typeTrue:
	case code >= typeInt8 && code <= typeInt64:
		r.take(1 << (code - typeInt8))
	case code >= typeUint8 && code <= typeUint64:
		r.take(1 << (code - typeUint8))
	case code == typeFloat32:
		r.take(4)
	case code == typeFloat64:
		r.take(8)
	case code == typeText || code == typeBinary:
		value = r.take(r.varuint())
	default:
		r.fail("a column of type %d", code)
	}
	switch {
	case token == tokenIfMatch && code == typeText:
		w.ifMatch = string(value)
	case token == tokenIfNoneMatch && code == typeText:
		w.ifNoneMatch = string(value)
	case token == tokenMinimal:
		w.minimal = code == typeTrue
	}
}

// hybridRowReader parses a HybridRow. After the first failure all reads return zeros.
type hybridRowReader struct {
	rest []byte
	err  error
}

func (r *hybridRowReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = BadRequest("The batch is not a valid stream of rows: " + fmt.Sprintf(format, args...) + ".")
	}
	r.rest = nil
}

func (r *hybridRowReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail("it ends early")
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *hybridRowReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *hybridRowReader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *hybridRowReader) varuint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail("a length is malformed")
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// header reads the first bytes of a HybridRow and returns the number of its schema.
func (r *hybridRowReader) header() uint32 {
	if b := r.byte(); b != rowStart {
		r.fail("a row begins with %#02x", b)
	}
	return r.uint32()
}

func appendRowHeader(dst []byte, schema uint32) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, rowStart), schema)
}

// appendRowSegment appends the segment row, with which a stream of HybridRows begins.
func appendRowSegment(dst []byte) []byte {
	return binary.LittleEndian.AppendUint32(append(appendRowHeader(dst, segmentSchema), 1), segmentLength)
}

// appendRowResult appends the record row and the body row of one result.
func appendRowResult(dst []byte, w batchResult) []byte {
	record := len(dst)
	dst = append(dst, make([]byte, recordLength)...)
	body := len(dst)
	dst = appendRowHeader(dst, resultSchema)
	has := byte(hasStatus | hasSubstatus)
	presence := len(dst)
	dst = append(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(w.status))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(w.substatus))
	if w.etag != "" {
		has |= hasETag
		dst = append(binary.AppendUvarint(dst, uint64(len(w.etag))), w.etag...)
	}
	if w.body != nil {
		has |= hasResultBody
		dst = append(binary.AppendUvarint(dst, uint64(len(w.body))), w.body...)
	}
	dst[presence] = has
	if w.retryAfter > 0 {
		dst = append(dst, typeUint32, tokenRetryAfter)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(min(w.retryAfter, math.MaxUint32)))
	}
	dst = append(dst, typeFloat64, tokenCharge)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(w.charge))

	head := binary.LittleEndian.AppendUint32(appendRowHeader(dst[record:record], recordSchema),
		uint32(len(dst)-body))
	binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(dst[body:]))
	return dst
}
