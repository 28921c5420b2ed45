package store_test

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestContinuationOfRangeForKey checks that the continuation of a query over the range of effective
// partition keys of one partition key can be used for a query of that partition key. Clients with a feed
// range do so.
func TestContinuationOfRangeForKey(t *testing.T) {
	t.Parallel()
	b := newQueryBench(t, store.Options{Ranges: 2}, false, "")
	defer b.close()
	for i := range 10 {
		b.put(fmt.Sprintf(`{"id":"%d","pk":"p%d"}`, i, i%2))
	}
	d := definition.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	low := definition.EPK(&d, pk("p1"))
	high := new(big.Int).Add(new(big.Int).SetBytes(low), big.NewInt(1)).FillBytes(make([]byte, len(low)))
	part := store.KeyOrRange{MinEPK: hex.EncodeToString(low), MaxEPK: hex.EncodeToString(high)}
	for _, text := range []string{"SELECT VALUE c.id FROM c", "SELECT VALUE c.id FROM c ORDER BY c.id DESC"} {
		ask := func(scope store.KeyOrRange, token string) (rows string, next string, err error) {
			q := store.QueryRequest{Text: text}
			q.Scope, q.MaxItems, q.Continuation = scope, 2, token
			page, _, err := b.c.Query(b.ctx, q)
			for _, row := range page.Rows {
				rows += strings.Trim(string(row), `"`)
			}
			return rows, page.Continuation, err
		}
		first, token, err := ask(part, "")
		if err != nil || token == "" {
			t.Fatal(first, err)
		}
		same, _, err := ask(part, token)
		if err != nil || len(same) != 2 {
			t.Fatal(same, err)
		}
		if key, _, err := ask(store.KeyOrRange{Partition: pk("p1")},
			token); err != nil || key != same {
			t.Errorf("%s: %q follows by the range, %q by its key: %v", text, same, key, err)
		}
		if _, _, err := ask(store.KeyOrRange{Partition: pk("p0")}, token); !is(err,
			fault.CodeBadRequest) {
			t.Errorf("%s: a key outside of the range: %v", text, err)
		}
	}
}
