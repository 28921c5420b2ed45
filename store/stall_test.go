package store

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// blockingEngine is an engine that keeps one transaction open until release is closed, as a slow stored
// procedure does.
type blockingEngine struct {
	testdisk.Engine
	next    atomic.Bool // the next transaction is kept open
	open    chan struct{}
	release chan struct{}
}

func (h *blockingEngine) Update(ctx context.Context, scopes [][]byte, fn func(engine.Txn) error,
	ahead ...[]byte) ([]engine.LSNScopeStatus, error) {
	if !h.next.Swap(false) {
		return h.Engine.Update(ctx, scopes, fn, ahead...)
	}
	return h.Engine.Update(ctx, scopes, func(t engine.Txn) error {
		err := fn(t)
		close(h.open)
		<-h.release
		return err
	}, ahead...)
}

// TestDeadlinesBesideBlockedRange checks that while a transaction blocks one range, and a change of the
// container's policy waits for it, every other operation succeeds or fails within its time limit.
func TestDeadlinesBesideBlockedRange(t *testing.T) {
	ctx := t.Context()
	e, err := testdisk.NewCrashable(t).Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	h := &blockingEngine{Engine: e, open: make(chan struct{}), release: make(chan struct{})}
	db, err := Open(ctx, h, Options{Clock: ttl.NewManual(time.Unix(1_700_000_000, 0)), ManualReaper: true})
	if err != nil {
		t.Fatal(err)
	}
	d, err := db.CreateDatabase(ctx, "db", definition.Throughput{})
	if err != nil {
		t.Fatal(err)
	}
	spec := definition.ContainerSpec{ID: "c",
		PartitionKey: definition.PartitionKeyDefinition{Paths: []string{"/pk"}, Kind: "Hash",
			Version: 2}, DefaultTTL: ttl.Never}
	c, err := d.CreateContainerWith(ctx, spec, ContainerOptions{Ranges: 2})
	if err != nil {
		t.Fatal(err)
	}
	create := func(ctx context.Context, p string) error {
		_, _, err := c.Create(ctx, definition.NewPartitionKey(jsondoc.StringValue(p)),
			[]byte(`{"id":"1","pk":"`+p+`"}`), WriteOptions{})
		return err
	}
	read := func(ctx context.Context, p string) error {
		_, _, err := c.Read(ctx, definition.NewPartitionKey(jsondoc.StringValue(p)), "1", ReadOptions{})
		return err
	}
	if err := errors.Join(create(ctx, "kept"), read(ctx, "kept")); err != nil {
		t.Fatal(err)
	}
	h.next.Store(true)
	var under sync.WaitGroup
	under.Go(func() {
		if err := create(ctx, "long"); err != nil {
			t.Error("the long transaction:", err)
		}
	})
	<-h.open
	under.Go(func() {
		spec := c.Info().Spec
		spec.DefaultTTL = 100
		if _, err := d.ReplaceContainer(ctx, "c", spec, WriteOptions{}); err != nil {
			t.Error("the change of the policy:", err)
		}
	})
	for c.Inside() > 0 {
		runtime.Gosched()
	}
	for _, one := range []struct {
		name string
		late bool // it cannot be answered before the change of the policy is
		ask  func(context.Context) error
	}{
		{"a point read", false, func(ctx context.Context) error { return read(ctx, "kept") }},
		{"a list", false, func(ctx context.Context) error {
			_, _,
				err := c.List(ctx, ListOptions{})
			return err
		}},
		{"a ping", false, db.Ping},
		{"a create in another partition", true,
			func(ctx context.Context) error { return create(ctx, "fresh") }},
		{"a create of a database", true, func(ctx context.Context) error {
			_, err := db.CreateDatabase(ctx, "other", definition.Throughput{})
			return err
		}},
		{"a change of the policy", true, func(ctx context.Context) error {
			_, err := d.ReplaceContainer(ctx, "c", spec, WriteOptions{})
			return err
		}},
		{"a split", true, func(ctx context.Context) error { _, err := c.Split(ctx, "0", ""); return err }},
		{"a deletion of the container", true,
			func(ctx context.Context) error { return d.DeleteContainer(ctx, "c", WriteOptions{}) }},
	} {
		within := 30 * time.Second
		if one.late {
			within = 20 * time.Millisecond
		}
		asking, cancel := context.WithTimeout(ctx, within)
		err := one.ask(asking)
		cancel()
		if late := fault.ErrorCode(err) == fault.CodeCanceled; late != one.late || err != nil && !late {
			t.Errorf("%s: %v", one.name, err)
		}
	}
	close(h.release)
	under.Wait()
	for _, p := range []string{"fresh", "later"} {
		if err := create(ctx, p); err != nil {
			t.Errorf("a create of %q afterwards: %v", p, err)
		}
	}
	if got := c.Info().Spec.DefaultTTL; got != 100 {
		t.Errorf("the default is %d afterwards", got)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
