package bench

import (
	"context"
	"fmt"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// engineTTL is the time to live, in seconds, of the documents in the stores that are compared.
const engineTTL = 3600

// engineDoc returns the document n, of about 1 KB and 14 values.
func engineDoc(n int) []byte {
	return fmt.Appendf(nil, `{"id":"%d","pk":"p%d","n":%d,"city":"c%d","kind":"k%d","day":%d,"price":%d.5,`+
		`"ok":%t,"name":"name %d","deep":{"a":%d,"b":"x%d"},"list":[%d,%d],"text":"%0700d"}`,
		n, n/batchSize%1000, n*7919%1_000_003,
		n%100, n%40, n%365, n%9973, n%2 == 0, n, n%77, n%3, n%5, n%11, n)
}

// engineKey returns the partition key of the n-th document. Documents that are written in one batch have the
// same partition key.
func engineKey(n int) definition.PartitionKey {
	return definition.NewPartitionKey(jsondoc.StringValue(fmt.Sprintf("p%d", n/batchSize%1000)))
}

// engineContainer creates the container on which the store's operations are measured: partition key /pk, and
// a default time to live.
func engineContainer(ctx context.Context, db *store.DB) (*store.Container, error) {
	d, err := db.CreateDatabase(ctx, "bench", definition.Throughput{})
	if err != nil {
		return nil, err
	}
	spec, _, err := definition.ParseContainerSpec(fmt.Appendf(nil, `{"id":"c","defaultTtl":%d,
		"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`, engineTTL), true)
	if err != nil {
		return nil, err
	}
	return d.CreateContainer(ctx, spec, definition.Throughput{})
}

// enginePage is the number of rows of a page.
const enginePage = 20

// containerOperations runs the operations on a container.
type containerOperations struct{ c *store.Container }

func (p *containerOperations) ops() map[string]func(context.Context, int) error {
	return map[string]func(context.Context, int) error{
		"create": func(ctx context.Context, n int) error {
			_, _, err := p.c.Create(ctx, engineKey(n), engineDoc(n), store.WriteOptions{})
			return err
		},
		"read": func(ctx context.Context, n int) error {
			n = n / batchSize % batchSize
			_, _, err := p.c.Read(ctx, engineKey(n), fmt.Sprint(n), store.ReadOptions{})
			return err
		},
		"replace": func(ctx context.Context, n int) error {
			id := n / batchSize % batchSize
			_, _, err := p.c.Upsert(ctx, engineKey(id), engineReplaced(id, n), store.WriteOptions{})
			return err
		},
		"equality": p.query(func(n int) string {
			return fmt.Sprintf(`SELECT * FROM c WHERE c.city = "c%d"`, n/batchSize%100)
		}),
		"order": p.query(func(int) string { return `SELECT * FROM c ORDER BY c.n` }),
		"both": p.query(func(n int) string {
			return fmt.Sprintf(`SELECT * FROM c WHERE c.city = "c%d" AND c.deep.b = "x1"`, n/batchSize%100)
		}),
		"count": p.query(func(int) string { return `SELECT VALUE COUNT(1) FROM c` }),
		"feed": func(ctx context.Context, _ int) error {
			_, _, err := p.c.Changes(ctx, store.ChangesRequest{MaxItems: 100})
			return err
		},
		"batch": p.batch,
	}
}

// engineReplaced returns the document id with the additional property "version", whose value is n.
func engineReplaced(id, n int) []byte {
	doc := engineDoc(id)
	return fmt.Appendf(doc[:len(doc)-1], `,"version":%d}`, n)
}

func (p *containerOperations) query(text func(n int) string) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		o := store.ListOptions{MaxItems: enginePage}
		_, _, err := p.c.Query(ctx, store.QueryRequest{Text: text(n), ListOptions: o})
		return err
	}
}

// batch creates documents in one transaction, all with one partition key.
func (p *containerOperations) batch(ctx context.Context, n int) error {
	ops := make([]store.ItemOperation, batchSize)
	for i := range ops {
		ops[i] = store.ItemOperation{Kind: store.OperationUpsert, NoContent: true, Body: engineDoc(n + i)}
	}
	_, _, err := p.c.Batch(ctx, engineKey(n), ops, store.BatchOptions{Atomic: true})
	return err
}
