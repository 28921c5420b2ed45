package store_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// receivedChangeFeedPages holds the pages that a reader of a change feed has received, and all their changes.
type receivedChangeFeedPages struct {
	pages []store.ChangesPage
	all   []store.Change
}

// follow1 reads the change feed of the container's only range after an LSN, in pages of at most most
// changes. It checks that each page is in the order of LSNs and contains all changes of its last LSN.
func (b *testStore) follow1(mode store.ChangeFeedMode, after uint64, most int) (out receivedChangeFeedPages) {
	b.t.Helper()
	for {
		page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{
			Mode: mode, Start: store.ChangesStart{After: strconv.FormatUint(after, 10)}, MaxItems: most})
		if err != nil {
			b.t.Fatal(err)
		}
		last := after
		for i := range page.Changes {
			ch := &page.Changes[i]
			shown := gjson.GetBytes(ch.AppendJSON(nil), "_lsn").Uint()
			if mode == store.AllVersions {
				shown = gjson.GetBytes(ch.AppendJSON(nil), "metadata.lsn").Uint()
			}
			if ch.LSN < last || ch.LSN == after || shown != ch.LSN {
				b.t.Errorf("behind %d and %d: a change at LSN %d, shown as %d", after, last, ch.LSN, shown)
			}
			last = ch.LSN
		}
		at, err := strconv.ParseUint(page.Position, 10, 64)
		if err != nil || at != last {
			b.t.Errorf("the page behind %d ends at %q, its last change is of %d", after, page.Position, last)
		}
		if after = at; len(page.Changes) == 0 {
			return out
		}
		out.pages, out.all = append(out.pages, page), append(out.all, page.Changes...)
	}
}

// sizes returns the numbers of changes in the pages, as text such as "[5 1]".
func (f receivedChangeFeedPages) sizes() string {
	var list []int
	for _, p := range f.pages {
		list = append(list, len(p.Changes))
	}
	return fmt.Sprint(list)
}

// ridNumber returns the number in an item's resource id by which the items of a range are ordered.
func ridNumber(t *testing.T, it store.Item) uint64 {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(it.RID(), "-", "/"))
	if err != nil || len(b) != 16 {
		t.Fatalf("%s has the rid %q", it.ID(), it.RID())
	}
	return binary.LittleEndian.Uint64(b[8:])
}

// apart checks that items that were written one after the other have different etags and increasing rids.
func apart(t *testing.T, items []store.Item) {
	t.Helper()
	etags, rid := map[string]bool{}, uint64(0)
	for _, it := range items {
		if n := ridNumber(t, it); n <= rid || etags[it.ETag()] {
			t.Fatalf("%s: etag %s, rid %x behind %x", it.ID(), it.ETag(), n, rid)
		} else {
			rid = n
		}
		etags[it.ETag()] = true
	}
}

// TestOneLSNForABatch checks that a batch of five writes raises the LSN by one. Its receipt, its items and
// the change feed must have this LSN; the etags and rids of its items must differ.
func TestOneLSNForABatch(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"changeFeedPolicy":{"retentionDuration":10}`, 1)
	defer b.close()
	b.doc("first", 0)
	_, before := b.c.Position("")
	var ops []store.ItemOperation
	for i := range 5 {
		ops = append(ops, op(store.OperationCreate, "", fmt.Sprintf(`{"id":"%d","pk":"p"}`, i)))
	}
	out, receipt, err := b.c.Batch(b.ctx, pk("p"), ops, store.BatchOptions{Atomic: true})
	if err != nil || out.Mixed {
		t.Fatal(codes(out), err)
	}
	_, at := b.c.Position("")
	if receipt.LSN != before+1 || at != before+1 || b.c.Ranges().Ranges[0].LSN != before+1 {
		t.Errorf("a batch of 5 raised the LSN from %d to %d, and told %d", before, at, receipt.LSN)
	}
	var items []store.Item
	for _, r := range out.Results {
		if items = append(items, r.Item); r.Item.LSN() != before+1 {
			t.Errorf("%s has LSN %d, want %d", r.Item.ID(), r.Item.LSN(), before+1)
		}
	}
	apart(t, items)
	if it := b.doc("last", 0); it.LSN() != before+2 {
		t.Errorf("the next write has LSN %d, want %d", it.LSN(), before+2)
	}
	for _, mode := range []store.ChangeFeedMode{store.LatestVersions, store.AllVersions} {
		if got := b.follow1(mode, 0, 1).sizes(); got != "[1 5 1]" {
			t.Errorf("mode %d: pages of %s", mode, got)
		}
		if got := b.follow1(mode, before, 3).all; len(got) != 6 || got[0].LSN != before+1 ||
			got[4].LSN != before+1 {
			t.Errorf("mode %d, behind %d: %d changes", mode, before, len(got))
		}
		if got := b.follow1(mode, before+1, 3).sizes(); got != "[1]" {
			t.Errorf("mode %d, behind the batch: pages of %s", mode, got)
		}
	}
	for lsn, refused := range map[uint64]bool{before + 1: false, before + 2: false, before + 3: true} {
		_, _, err := b.c.Read(b.ctx, pk("p"), "3",
			store.ReadOptions{Session: []store.SessionTokenEntry{{Range: "0", LSN: lsn}}})
		if is(err, fault.CodeSessionNotAvailable) != refused || !refused && err != nil {
			t.Errorf("a session at %d: %v", lsn, err)
		}
	}
}

// TestVersionsOfOneBatch checks that several versions of one item in a batch have the same LSN in the feed
// of all versions, each with the LSN of its predecessor.
func TestVersionsOfOneBatch(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":10}`, 1)
	defer b.close()
	ghost := b.doc("a", 1)
	b.pass(1)
	_, receipt, err := b.c.Batch(b.ctx, pk("p"), []store.ItemOperation{
		op(store.OperationCreate, "", `{"id":"a","pk":"p","n":1}`), // where the ghost was
		op(store.OperationUpsert, "", `{"id":"a","pk":"p","n":2}`),
		op(store.OperationDelete, "a", ""),
	}, store.BatchOptions{Atomic: true})
	if err != nil || receipt.LSN != ghost.LSN()+1 {
		t.Fatal(receipt, err)
	}
	var got string
	for _, ch := range b.follow1(store.AllVersions, ghost.LSN(), 1).all {
		got += fmt.Sprintf("%s at +%d of +%d; ", ch.Kind, ch.LSN-ghost.LSN(), ch.PreviousLSN-ghost.LSN())
	}
	if want := "delete at +1 of +0; create at +1 of +" + fmt.Sprint(-ghost.LSN()) +
		"; replace at +1 of +1; delete at +1 of +1; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestOneLSNForAScript checks that a transaction with more writes than fit into one LSN takes several
// LSNs, and that its changes are shown with the last of them.
func TestOneLSNForAScript(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"indexingPolicy":{"indexingMode":"none","automatic":false},"changeFeedPolicy":{"retentionDuration":10}`, 1)
	defer b.close()
	b.doc("first", 0)
	_, before := b.c.Position("")
	const n, lsns = 5000, 20
	var items []store.Item
	receipt, err := b.c.Transact(b.ctx, pk("p"), func(x *store.Transaction) error {
		items = items[:0]
		for i := range n {
			r := x.Do(op(store.OperationCreate, "", fmt.Sprintf(`{"id":"%d","pk":"p"}`, i)))
			if r.Err != nil {
				return r.Err
			}
			items = append(items, r.Item)
		}
		return nil
	})
	if err != nil || receipt.LSN != before+lsns {
		t.Fatalf("%d writes behind LSN %d: at %d, %v", n, before, receipt.LSN, err)
	}
	apart(t, items)
	b.doc("last", 0)
	for _, mode := range []store.ChangeFeedMode{store.LatestVersions, store.AllVersions} {
		f := b.follow1(mode, 0, 100)
		if got := f.sizes(); got != "[5001 1]" {
			t.Errorf("mode %d: pages of %s", mode, got)
		}
		for i, ch := range f.all[1 : n+1] {
			if ch.LSN != before+lsns || ch.Item.ID() != strconv.Itoa(i) {
				t.Fatalf("mode %d: the change %d is of %s at LSN %d, want %d", mode, i, ch.Item.ID(), ch.LSN,
					before+lsns)
			}
		}
	}
	b.split("0", "")
	position := fmt.Sprintf("1:%d,2:%d", before, before)
	page, _, err := b.c.Changes(b.ctx, store.ChangesRequest{Start: store.ChangesStart{After: position},
		MaxItems: 1})
	if err != nil || len(page.Changes) != n {
		t.Errorf("in the halves of the range: %d changes, %v", len(page.Changes), err)
	}
}

// TestOneLSNForAPurge checks that the expiries of one purge have the same LSN but different sequence
// numbers in the log of expiries, so that a reader can stop between them.
func TestOneLSNForAPurge(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":-1`, 1)
	defer b.close()
	b.settings(withEvents(0))
	for i := range 10 {
		b.doc(strconv.Itoa(i), 1)
	}
	b.pass(1)
	b.purgeDue()
	at, sequence, ids := uint64(0), uint64(0), map[string]bool{}
	for after, more := "", true; more; {
		page, err := b.c.Expirations(b.ctx, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Expirations {
			if at = max(at, e.LSN); e.LSN != at || e.Sequence <= sequence || ids[e.Key.ID] {
				t.Errorf("%s died at LSN %d, sequence %d behind %d; another at LSN %d", e.Key.ID, e.LSN,
					e.Sequence, sequence, at)
			}
			sequence, ids[e.Key.ID] = e.Sequence, true
			if rest, err := b.c.Expirations(b.ctx, e.Position, 100); err != nil ||
				len(rest.Expirations) != 10-len(ids) {
				t.Errorf("behind %s: %d, %v", e.Position, len(rest.Expirations), err)
			}
		}
		more, after = len(page.Expirations) > 0, page.Position
	}
	if end, err := b.c.ExpirationsEnd(b.ctx); err != nil || len(ids) != 10 {
		t.Errorf("%d deaths, %v", len(ids), err)
	} else if rest, err := b.c.Expirations(b.ctx, end, 0); err != nil || len(rest.Expirations) > 0 {
		t.Errorf("behind the end: %v, %v", rest, err)
	}
}

// TestOneLSNForATombstone checks that the deletion of a partition key has an LSN of its own: it deletes
// the items written before, and none written after it.
func TestOneLSNForATombstone(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	old := b.doc("a", 0)
	receipt, err := b.c.DeletePartition(b.ctx, pk("p"))
	if err != nil || receipt.LSN != old.LSN()+1 {
		t.Fatal(receipt, err)
	}
	b.batch(pk("p"), store.BatchOptions{Atomic: true}, op(store.OperationCreate, "", `{"id":"a","pk":"p"}`),
		op(store.OperationCreate, "", `{"id":"b","pk":"p"}`))
	b.sweep()
	if got := b.ids(b.c); got != "a b" {
		t.Errorf("behind the tombstone there is %q", got)
	}
}
