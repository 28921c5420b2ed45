package cosmos

import (
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/store/fault"
)

// FuzzJSONBatch looks for batches that panic, or fail otherwise than with a 400.
func FuzzJSONBatch(f *testing.F) {
	f.Add([]byte(`[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"},"partitionKey":"[\"a\"]"},{"operationType":"Patch","id":"1","resourceBody":[{"op":"incr","path":"/n","value":1}]}]`))
	f.Add([]byte(`[{"operationType":"Read","id":"1","ifNoneMatch":"*","partitionKey":[null]},{"operationType":"Delete","id":"1","ifMatch":"e","minimalReturnPreference":true}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := parseJSONBatch(body)
		if err != nil {
			var wire *Error
			if !errors.As(err, &wire) || wire.Status != StatusBadRequest {
				t.Fatal(err)
			}
			return
		}
		for i := range list {
			if op := list[i].operation(); op.Err != nil && fault.ErrorCode(op.Err) != fault.CodeBadRequest {
				t.Fatal(op.Err)
			}
		}
	})
}
