package store_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestFormerRanges checks that the range ids of a deleted container still identify the same spans of keys
// in a new container of its name with another number of ranges: queries, lists, feeds and batches by the
// old ids find each item of the new container once.
func TestFormerRanges(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"changeFeedPolicy":{"retentionDuration":10}`, 2)
	spec := b.c.Info().Spec
	old := rangeIDs(b.c)
	for _, n := range []int{4, 1, 3} {
		d, err := b.db.Database("db")
		if err == nil {
			err = d.DeleteContainer(b.ctx, "c", store.WriteOptions{})
		}
		if err == nil {
			b.c, err = d.CreateContainerWith(b.ctx, spec, store.ContainerOptions{Ranges: n})
		}
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		var ops []store.ItemOperation
		for i := range 20 {
			id := fmt.Sprintf("%02d", i)
			body := fmt.Appendf(nil, `{"id":%q,"pk":%q}`, id, id)
			if _, _, err := b.c.Create(b.ctx, pk(id), body, store.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			want = append(want, id)
			ops = append(ops, store.ItemOperation{Kind: store.OperationRead, Partition: pk(id), ID: id})
		}
		var listed, changed, found, ordered, read []string
		ids := func(to *[]string, rows ...[]byte) {
			for _, row := range rows {
				*to = append(*to, gjson.GetBytes(row, "id").Str)
			}
		}
		for _, id := range old {
			scope := store.KeyOrRange{Range: id}
			page, _, err := b.c.List(b.ctx, store.ListOptions{Scope: scope})
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range page.Items {
				ids(&listed, it.Body())
			}
			changes, _, err := b.c.Changes(b.ctx, store.ChangesRequest{Scope: scope})
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range changes.Changes {
				ids(&changed, change.Item.Body())
			}
			query := func(text string) [][]byte {
				o := store.ListOptions{Scope: scope}
				page, _, err := b.c.Query(b.ctx, store.QueryRequest{Text: text, ListOptions: o})
				if err != nil {
					t.Fatal(err)
				}
				return page.Rows
			}
			ids(&found, query("SELECT * FROM c")...)
			rows := query("SELECT c.id FROM c ORDER BY c.id")
			if !slices.IsSortedFunc(rows, bytes.Compare) {
				t.Errorf("range %s: the rows of an ORDER BY are not in order: %s", id, rows)
			}
			ids(&ordered, rows...)
			batch, _, err := b.c.Batch(b.ctx, definition.PartitionKey{}, ops,
				store.BatchOptions{Range: id, ContinueOnError: true})
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range batch.Results {
				switch {
				case r.Err == nil:
					read = append(read, ops[i].ID)
				case fault.ErrorCode(r.Err) != fault.CodeRangeGone:
					t.Error(r.Err)
				}
			}
		}
		for how, got := range map[string][]string{
			"list": listed, "feed": changed, "query": found, "order": ordered, "batch": read,
		} {
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%d ranges, %s by the ranges %v: %v", n, how, old, got)
			}
		}
		never := store.KeyOrRange{Range: "999"}
		_, _, err = b.c.List(b.ctx, store.ListOptions{Scope: never})
		if fault.ErrorCode(err) != fault.CodeRangeGone {
			t.Errorf("a range that there never was: %v", err)
		}
	}
	checkClean(t, b.db)
	b.close()
}

func rangeIDs(c *store.Container) []string {
	var ids []string
	for _, r := range c.Ranges().Ranges {
		ids = append(ids, r.ID)
	}
	return ids
}
