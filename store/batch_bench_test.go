package store

import (
	"testing"

	"github.com/mayflydb/mayfly/store/definition"
)

// BenchmarkBulk creates documents in bulk requests of 100. Its figures are per document, so that they can
// be compared with those of BenchmarkCreate.
func BenchmarkBulk(b *testing.B) {
	_, c, _ := benchStore(b, 0)
	ops := make([]ItemOperation, b.N)
	for i := range ops {
		ops[i] = ItemOperation{Kind: OperationCreate, Partition: benchKey(i).Partition, Body: benchBody(i)}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for len(ops) > 0 {
		n := min(len(ops), MaxBatchOperations)
		out, _, err := c.Batch(b.Context(), definition.PartitionKey{}, ops[:n],
			BatchOptions{ContinueOnError: true})
		if err != nil || out.Mixed {
			b.Fatal(out.Results, err)
		}
		ops = ops[n:]
	}
}
