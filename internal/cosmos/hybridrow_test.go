package cosmos

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/mayflydb/mayfly/internal/hybridrowtest"
	"github.com/mayflydb/mayfly/store"
)

// resultRow is the HybridRow of one operation's result in the response to a batch, in hexadecimal.
const resultRow = "81 71 54 e1 7f 0f c9 00 00 00 00 00 00 00 03 22 78 22 0a 7b 22 69 64 22 3a 22 31 22 7d 10 06 29 5c 8f c2 f5 28 19 40"

func TestReadRows(t *testing.T) {
	create := batchOperation{kind: store.OperationCreate, body: []byte(`{"id":"1"}`)}
	remove := batchOperation{kind: store.OperationDelete, id: "1", ifMatch: `"e"`}
	stream := append(hybridrowtest.Bytes(t,
		hybridrowtest.Segment+hybridrowtest.CreateHead+hybridrowtest.Create), hybridrowtest.Record(hybridrowtest.Bytes(t, hybridrowtest.Delete))...)
	got, err := parseRowBatch(stream)
	if want := []batchOperation{create, remove}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if got, err := parseRowBatch(append(stream, stream...)); err != nil || len(got) != 4 {
		t.Errorf("two segments: %+v, %v", got, err)
	}

	// Every column: type 5, resource type, partition key, EPK, id, binary id, body; then sparse ones, known
	// and not.
	all := hybridrowtest.Bytes(t,
		"81 70 54 e1 7f 7f 05 00 00 00 02 00 00 00"+"05 5b 22 61 22 5d"+"02 01 02"+"01 31"+"01 32"+"02 7b 7d"+
			"14 08 07 49 6e 63 6c 75 64 65"+"14 09 01 65"+"14 0a 01 2a"+"07 0b 0a 00 00 00"+"03 0c"+
			"10 0f 6e 65 00 00 00 00 00 00 00 00"+"15 0e 78 01 ff"+"02 0e 79"+"01 0e 7a")
	got, err = parseRowBatch(hybridrowtest.Record(all))
	want := batchOperation{kind: store.OperationReplace, id: "1", partitionKey: `["a"]`, body: []byte("{}"), ifMatch: "e", ifNoneMatch: "*", minimal: true}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for code, kind := range map[byte]store.ItemOperationKind{0: store.OperationCreate,
		1: store.OperationPatch, 2: store.OperationRead,
		4: store.OperationDelete, 5: store.OperationReplace, 20: store.OperationUpsert} {
		row := hybridrowtest.Bytes(t, "81 70 54 e1 7f 01 00 00 00 00 00 00 00 00") // no column but the first
		row[6] = code
		if got, err := parseRowOperation(row); err != nil || got.kind != kind {
			t.Errorf("type %d: %+v, %v", code, got, err)
		}
	}
}

// TestBadRows checks that every malformed stream of HybridRows, such as a truncated one, is refused with a
// 400.
func TestBadRows(t *testing.T) {
	good := append(hybridrowtest.Bytes(t,
		hybridrowtest.Segment+hybridrowtest.CreateHead+hybridrowtest.Create), hybridrowtest.Record(hybridrowtest.Bytes(t, hybridrowtest.Delete))...)
	bad := func(what string, stream []byte) {
		t.Helper()
		_, err := parseRowBatch(stream)
		var wire *Error
		if !errors.As(err, &wire) || wire.Status != StatusBadRequest {
			t.Errorf("%s: %v", what, err)
		}
	}
	whole := map[int]bool{0: true, 10: true, 48: true, len(good): true} // rows end here
	for n := range good {
		if !whole[n] {
			bad("cut short", good[:n])
		}
	}
	for i := 23; i < 48; i++ { // any byte of the first body row
		flipped := bytes.Clone(good)
		flipped[i] ^= 0x10
		bad("a wrong checksum", flipped)
	}
	for name, row := range map[string]string{
		"another schema":       "81 71 54 e1 7f 01 00 00 00 00 00 00 00 00",
		"not a row":            "80 70 54 e1 7f 01 00 00 00 00 00 00 00 00",
		"no operation type":    "81 70 54 e1 7f 00 00 00 00 00 00 00 00 00",
		"unknown type":         "81 70 54 e1 7f 01 03 00 00 00 00 00 00 00",
		"not a document":       "81 70 54 e1 7f 03 00 00 00 00 03 00 00 00",
		"no fixed columns":     "81 70 54 e1 7f 01",
		"a length too far":     "81 70 54 e1 7f 41 00 00 00 00 00 00 00 00 7f 01",
		"a length of 64 bits":  "81 70 54 e1 7f 41 00 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff ff 01",
		"a length that is cut": "81 70 54 e1 7f 41 00 00 00 00 00 00 00 00 ff",
		"a length of 11 bytes": "81 70 54 e1 7f 41 00 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff ff ff 01",
		"unknown sparse type":  "81 70 54 e1 7f 01 00 00 00 00 00 00 00 00 40 09",
		"sparse without value": "81 70 54 e1 7f 01 00 00 00 00 00 00 00 00 14 09",
		"sparse without token": "81 70 54 e1 7f 01 00 00 00 00 00 00 00 00 14",
	} {
		bad(name, hybridrowtest.Record(hybridrowtest.Bytes(t, row)))
	}
	bad("segment too short", hybridrowtest.Bytes(t, "81 f0 d8 ff 7f 01 09 00 00 00"))
	bad("segment too long", hybridrowtest.Bytes(t, "81 f0 d8 ff 7f 01 ff ff ff ff"))
	bad("record too long", hybridrowtest.Bytes(t, "81 f1 d8 ff 7f ff ff ff ff 00 00 00 00"))
}

func TestWriteRows(t *testing.T) {
	if got := appendRowSegment(nil); !bytes.Equal(got, hybridrowtest.Bytes(t, hybridrowtest.Segment)) {
		t.Errorf("segment %x", got)
	}
	got := appendRowResult([]byte("before"),
		batchResult{status: 201, etag: `"x"`, body: []byte(`{"id":"1"}`), charge: 6.29})
	if want := append([]byte("before"),
		hybridrowtest.Record(hybridrowtest.Bytes(t, resultRow))...); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	got = appendRowResult(nil,
		batchResult{status: 429, substatus: 3200, retryAfter: 300, charge: 1, message: "is not told"})
	if want := hybridrowtest.Record(hybridrowtest.Bytes(t,
		"81 71 54 e1 7f 03 ad 01 00 00 80 0c 00 00 0b 05 2c 01 00 00 10 06 00 00 00 00 00 00 f0 3f")); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

// FuzzRows parses random bytes as a batch in the HybridRow format. It checks that the parser does not panic,
// and that every error has status 400.
func FuzzRows(f *testing.F) {
	f.Add(hybridrowtest.Bytes(f, hybridrowtest.Segment+hybridrowtest.CreateHead+hybridrowtest.Create))
	f.Add(hybridrowtest.Record(hybridrowtest.Bytes(f, hybridrowtest.Delete)))
	f.Add(hybridrowtest.Record(hybridrowtest.Bytes(f,
		"81 70 54 e1 7f 7f 05 00 00 00 02 00 00 00 05 5b 22 61 22 5d 02 01 02 01 31 01 32 02 7b 7d 10 0f 6e 65 00 00 00 00 00 00 00 00")))
	f.Fuzz(func(t *testing.T, body []byte) {
		refused := func(err error) bool {
			var wire *Error
			return errors.As(err, &wire) && wire.Status == StatusBadRequest
		}
		if list, err := parseRowBatch(body); err != nil && !refused(err) {
			t.Fatal(err)
		} else if err == nil {
			for i := range list {
				list[i].operation()
			}
		}
		if w, err := parseRowOperation(body); err == nil { // past the checksum
			w.operation()
		} else if !refused(err) {
			t.Fatal(err)
		}
	})
}
