package host

import (
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

// An expired item can be moved to an expiry sink: an archive container, a dead-letter queue, a queue that it
// is forwarded to. It leaves its source and arrives in the sink in one transaction, so that it is in exactly
// one place after any crash, and arrives once.
//
// The source runs the transaction, which is its purge:
//
//	lock both sides, in the order of their tenants   // see OrderedSink.First
//	scopes := those of the source, and SinkTx.Scopes
//	Update(scopes): Begin; for each item: Take, then delete; Finish
//	SinkTx.Leave
//
// Locks. Both sides hold what keeps their own data still, shared. A transaction over several tenants locks
// them in the order that Open was given. A move of a clock uses the same order, and locks them exclusively.
// So no two can wait for each other. The order goes by tenants, not by source and sink, so that items can
// expire in both directions.

// ExpiredItem is an expired item as its sink receives it.
type ExpiredItem struct {
	From      string    // where it was stored: "shop/carts"
	ID        string    // its name there
	Body      []byte    // valid until Take returns
	ExpiredAt time.Time // by the clock of its source
}

// ExpirySink receives what has expired elsewhere.
type ExpirySink interface {
	// Enter takes the sink's locks, shared, until SinkTx.Leave. It returns the error of ctx, or that the sink
	// is gone or accepts nothing now: then nothing is purged either.
	Enter(ctx context.Context) (SinkTx, error)
}

// SinkTx is the sink's part in one purge.
type SinkTx interface {
	// Scopes returns the scopes that the arrival of the items writes to, as far as r shows them before the
	// transaction.
	Scopes(r engine.Reader, items []ExpiredItem) ([][]byte, error)
	// Begin begins the part in a transaction over these scopes, or begins it anew.
	Begin(t engine.Txn)
	// Take stores one item. It stores nothing when that needs a scope which the transaction does not have:
	// the rest is then for another transaction, which asks for the scopes anew. An error ends the
	// transaction.
	Take(item ExpiredItem) (taken bool, err error)
	// Finish ends the part: nothing more arrives in this transaction.
	Finish()
	// Leave releases the locks; committed reports whether the items that were taken are stored. It is called
	// once.
	Leave(committed bool)
}

// FindSink returns the sink of one kind with a name. It fails when there is none.
type FindSink func(name string) (ExpirySink, error)

// OrderedSink is a sink and its place in the order of locks.
type OrderedSink struct {
	ExpirySink
	// First reports whether the sink's locks come before those of the source: Enter is called before the
	// source takes its own, else after.
	First bool
}

// sinks are the kinds of sinks that tenants have.
type sinks map[string]sinkKind

type sinkKind struct {
	tenant int
	find   FindSink
}

// add adds the kinds of a tenant.
func (h sinks) add(tenant int, kinds map[string]FindSink) error {
	for kind, find := range kinds {
		if _, taken := h[kind]; taken {
			return fmt.Errorf("host: two tenants have expiry sinks of the kind %q", kind)
		}
		h[kind] = sinkKind{tenant, find}
	}
	return nil
}

// NoSinkError reports that no tenant has sinks of a kind.
type NoSinkError struct{ Kind string }

func (e *NoSinkError) Error() string {
	return fmt.Sprintf("host: there are no expiry sinks of the kind %q", e.Kind)
}

// Sink returns the sink for what expires in the tenant source, which is named as in its KeySpace. It fails
// with a
// *NoSinkError, and with the error of the tenant that has the sinks.
func (in *Instance) Sink(source, kind, name string) (OrderedSink, error) {
	k, ok := in.sinks[kind]
	if !ok {
		return OrderedSink{}, &NoSinkError{kind}
	}
	h, err := k.find(name)
	return OrderedSink{h, k.tenant < in.places[source]}, err
}
