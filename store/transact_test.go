package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

var errMine = errors.New("the function's own error")

func create(x *store.Transaction, id string) error {
	body := fmt.Sprintf(`{"id": %q, "pk": "p"}`, id)
	return x.Do(store.ItemOperation{Kind: store.OperationCreate, Body: []byte(body)}).Err
}

func (b *testStore) transact(fn func(*store.Transaction) error) error {
	_, err := b.c.Transact(b.ctx, pk("p"), fn)
	return err
}

func (b *testStore) count() string {
	b.t.Helper()
	for row, err := range b.c.Rows(b.ctx, store.QueryRequest{Text: "SELECT VALUE COUNT(1) FROM c"}) {
		if err != nil {
			b.t.Error(err)
		}
		return string(row)
	}
	return ""
}

// TestTransact checks that a transaction takes effect completely or not at all, sees its own writes, and
// can continue after a failed operation.
func TestTransact(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 3)
	defer b.close()
	err := b.transact(func(x *store.Transaction) error {
		for i := range 150 { // more than a batch may have
			if err := create(x, fmt.Sprint(i)); err != nil {
				return err
			}
		}
		if err := create(x, "7"); !errors.Is(err, fault.ErrConflict) {
			t.Errorf("the same id again: %v", err)
		}
		q := store.QueryRequest{Text: "SELECT VALUE COUNT(1) FROM c"}
		if page, err := x.Query(q); err != nil || string(page.Rows[0]) != "150" {
			t.Errorf("it sees %s of its own, %v", page.Rows, err)
		}
		return x.Do(store.ItemOperation{Kind: store.OperationDelete, ID: "0"}).Err
	})
	if err != nil || b.count() != "149" {
		t.Errorf("%s documents, %v", b.count(), err)
	}
	err = b.transact(func(x *store.Transaction) error {
		if err := create(x, "more"); err != nil {
			t.Error(err)
		}
		return errMine
	})
	if err != errMine || b.count() != "149" {
		t.Errorf("after an error there are %s documents, %v", b.count(), err)
	}
	b.pass(10)
	if err := b.transact(func(x *store.Transaction) error { return create(x, "7") }); err != nil ||
		b.count() != "1" {
		t.Errorf("the id of one that has expired: %v, %s documents", err, b.count())
	}
}

// TestTransactRefuses checks which operations fail in a transaction. The real-time clock stands still, so
// that no time limit is reached.
func TestTransactRefuses(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, testdisk.New(t), `"defaultTtl":10`, store.Options{Ranges: 1, ManualReaper: true,
		Wall: ttl.NewManual(time.Unix(0, 0))})
	defer b.close()
	var kept *store.Transaction
	err := b.transact(func(x *store.Transaction) error {
		kept = x
		for _, op := range []store.ItemOperation{
			{Kind: store.OperationCreate, Body: []byte(`{"id": "a", "pk": "q"}`)},
			{Kind: store.OperationRead, ID: "a", Partition: pk("q")},
			{Kind: store.OperationCreate, Body: []byte(`{"id": `)},
			{Kind: store.OperationCreate, Body: []byte(`{"id": "a"}`),
				WriteOptions: store.WriteOptions{PreTriggers: []string{"t"}}},
		} {
			if r := x.Do(op); !errors.Is(r.Err, fault.ErrBadRequest) {
				t.Errorf("%s of %s: %v", op.Kind, op.Body, r.Err)
			}
		}
		if _, err := x.Query(store.QueryRequest{Text: "SELECT"}); !errors.Is(err, fault.ErrBadRequest) {
			t.Errorf("a query that is none: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := create(kept, "late"); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("an operation after the end: %v", err)
	}
	if err := b.transact(func(x *store.Transaction) error {
		large := strings.Repeat("x", 1<<20)
		for i := range 40 {
			text := fmt.Sprintf(`{"id": "%d", "pk": "p", "s": "%s"}`, i, large)
			if err := x.Do(store.ItemOperation{Kind: store.OperationCreate,
				Body: []byte(text)}).Err; err != nil {
				return err
			}
		}
		return nil
	}); !errors.Is(err, fault.ErrTooLarge) {
		t.Errorf("40 MB in one transaction: %v", err)
	}
	if b.count() != "0" {
		t.Errorf("%s documents are left", b.count())
	}
}

// TestTransactThatDoesNotReturn checks that a function that does not return blocks its range only until the
// time limit of the transaction.
func TestTransactThatDoesNotReturn(t *testing.T) {
	wall := ttl.NewManual(time.Unix(0, 0))
	b := newBenchWith(t, testdisk.New(t), "", store.Options{Ranges: 1, ManualReaper: true, Wall: wall})
	defer b.close()
	entered, free := make(chan *store.Transaction), make(chan struct{})
	stuck := func(x *store.Transaction) error {
		if err := create(x, "half"); err != nil {
			t.Error(err)
		}
		entered <- x
		<-free
		return nil
	}
	result := make(chan error)
	go func() { result <- b.transact(stuck) }()
	x := <-entered
	if b.count() != "0" { // readers do not wait, and do not see it
		t.Error("a reader sees a transaction that goes on")
	}
	for { // its timer may not be set yet
		wall.Advance(5 * time.Second)
		select {
		case err := <-result:
			if !errors.Is(err, fault.ErrCanceled) {
				t.Errorf("a transaction that took too long: %v", err)
			}
		default:
			runtime.Gosched()
			continue
		}
		break
	}
	if err := b.transact(func(x *store.Transaction) error { return create(x, "next") }); err != nil {
		t.Errorf("the next one: %v", err)
	}
	if err := create(x, "late"); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("the one that was left behind writes: %v", err)
	}
	free <- struct{}{}

	ctx, cancel := context.WithCancel(b.ctx)
	go func() {
		_, err := b.c.Transact(ctx, pk("p"), stuck)
		result <- err
	}()
	<-entered
	cancel()
	if err := <-result; !errors.Is(err, fault.ErrCanceled) {
		t.Errorf("its context ended: %v", err)
	}
	free <- struct{}{}
	if b.count() != "1" {
		t.Errorf("%s documents, want the next one alone", b.count())
	}
}

// TestTransactPanics checks that Transact panics with the value of a panic in its function, and that the
// range can be used afterwards.
func TestTransactPanics(t *testing.T) {
	b := newTestStore(t, `"defaultTtl":10`, 1)
	defer b.close()
	func() {
		defer func() {
			if cause := recover(); cause != "mine" {
				t.Errorf("recovered %v", cause)
			}
		}()
		_ = b.transact(func(x *store.Transaction) error {
			_ = create(x, "a")
			panic("mine")
		})
	}()
	if err := b.transact(func(*store.Transaction) error { runtime.Goexit(); return nil }); err == nil {
		t.Error("a function that ended its goroutine has committed")
	}
	if err := b.transact(func(x *store.Transaction) error { return create(x, "b") }); err != nil ||
		b.count() != "1" {
		t.Errorf("the next one: %v, %s documents", err, b.count())
	}
}
