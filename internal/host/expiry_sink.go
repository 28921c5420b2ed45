package host

import (
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

// An expired item can be moved to an expiry sink: an archive container, a dead-letter queue, a queue that
// it is forwarded to. One transaction removes it from its source and stores it in the sink. So it is stored
// exactly once, in one of them, even after a crash.
//
// The source runs the transaction, which is its purge:
//
//	lock both sides, in the order of their tenants   // see ExpiredItemSinkWithLockOrder.First
//	scopes := those of the source, and ExpiredItemSinkTx.Scopes
//	Update(scopes): Begin; for each item: Take, then delete; Finish
//	ExpiredItemSinkTx.Leave
//
// The transaction holds, shared, the locks by which both tenants keep their data unchanged. A transaction
// over several tenants takes these locks in the order of the tenants given to Open. A move of a clock uses
// the same order and takes them exclusively. So there is no deadlock. The order depends on the tenants, not
// on which is source and sink, so items can expire in both directions.

// ExpiredItem is an expired item in the form in which an ExpiredItemSink receives it.
type ExpiredItem struct {
	From      string    // where it was stored: "shop/carts"
	ID        string    // id of the item in its source
	Body      []byte    // valid until Take returns
	ExpiredAt time.Time // by the clock of the source
}

// ExpiredItemSink is a place to which expired items of a container or queue are moved instead of being
// deleted: an archive container, for example, or a queue.
type ExpiredItemSink interface {
	// Enter takes the sink's locks, shared, until ExpiredItemSinkTx.Leave. It returns the error of ctx, or an
	// error if the sink is deleted or accepts no items at the moment; then the items are not purged.
	Enter(ctx context.Context) (ExpiredItemSinkTx, error)
}

// ExpiredItemSinkTx stores expired items in their sink, within the transaction that purges them.
type ExpiredItemSinkTx interface {
	// Scopes returns the scopes that a transaction needs to store the items. r reads the state before the
	// transaction.
	Scopes(r engine.Reader, items []ExpiredItem) ([][]byte, error)
	// Begin starts the sink's part of the transaction t, which has the scopes that Scopes has returned. It is
	// called again if the transaction runs again.
	Begin(t engine.Txn)
	// Take stores one item. If the item needs a scope that the transaction does not have, Take stores nothing
	// and returns false: the remaining items need another transaction, for which Scopes is called again. An
	// error ends the transaction.
	Take(item ExpiredItem) (taken bool, err error)
	// Finish ends the sink's part: no more items follow in this transaction.
	Finish()
	// Leave releases the locks that Enter has taken. committed is true if the transaction was committed, so
	// that the items passed to Take are stored in the sink. It is called once.
	Leave(committed bool)
}

// FindExpirySinkFunc returns the sink with the given name. It fails if there is none.
type FindExpirySinkFunc func(name string) (ExpiredItemSink, error)

// ExpiredItemSinkWithLockOrder is an ExpiredItemSink, together with the order in which its locks and the
// locks of the container or queue whose items expire must be taken.
type ExpiredItemSinkWithLockOrder struct {
	ExpiredItemSink
	// First reports whether the sink's locks precede those of the source. If so, Enter is called before the
	// source takes its own locks, otherwise after.
	First bool
}

// expirySinkFinders maps each kind of ExpiredItemSink (container or queue, for example) to what finds sinks
// of this kind: a function of the document store or of the message store.
type expirySinkFinders map[string]tenantExpirySinkFinder

// tenantExpirySinkFinder finds expiry sinks of one kind: it holds the index of the tenant (the document store
// or the message store) that has such sinks, and its function that finds one by name.
type tenantExpirySinkFinder struct {
	tenant int
	find   FindExpirySinkFunc
}

// add registers the kinds of ExpiredItemSink that one tenant (the document store or the message store) has.
// tenant is its index. It fails if another tenant has registered the same kind.
func (h expirySinkFinders) add(tenant int, kinds map[string]FindExpirySinkFunc) error {
	for kind, find := range kinds {
		if _, taken := h[kind]; taken {
			return fmt.Errorf("host: two tenants have expiry sinks of the kind %q", kind)
		}
		h[kind] = tenantExpirySinkFinder{tenant, find}
	}
	return nil
}

// NoExpirySinkError reports that a container or queue shall move its expired items to a sink of an unknown
// Kind.
type NoExpirySinkError struct{ Kind string }

func (e *NoExpirySinkError) Error() string {
	return fmt.Sprintf("host: there are no expiry sinks of the kind %q", e.Kind)
}

// Sink returns the expiry sink with the given kind and name, for items of the tenant called source
// ("documents", for example). It fails with a *NoExpirySinkError if the kind is unknown, or with the error
// of the tenant that has sinks of this kind, for example because the name is unknown.
func (in *EngineInstance) Sink(source, kind, name string) (ExpiredItemSinkWithLockOrder, error) {
	k, ok := in.sinks[kind]
	if !ok {
		return ExpiredItemSinkWithLockOrder{}, &NoExpirySinkError{kind}
	}
	h, err := k.find(name)
	return ExpiredItemSinkWithLockOrder{h, k.tenant < in.tenantIndex[source]}, err
}
