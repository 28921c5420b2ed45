package queue

import (
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/wire"
)

// bequeath sends expired items to the queue or topic called name, as the document store does when it purges
// them. It returns how many of them the entity has accepted. fn runs at the end of the transaction; if it
// fails, nothing is stored.
func (w *testQueueHost) bequeath(name string, fn func() error, list ...host.ExpiredItem) (taken int,
	err error) {
	w.t.Helper()
	to, err := w.h.Instance().Sink("another", sinkKind, name)
	if err != nil {
		return 0, err
	}
	part, err := to.Enter(w.ctx)
	if err != nil {
		return 0, err
	}
	defer func() { part.Leave(err == nil) }()
	var scopes [][]byte
	err = w.h.Instance().Engine().View(w.ctx, func(r engine.Reader) error {
		scopes, err = part.Scopes(r, list)
		return err
	})
	w.must(err)
	_, err = w.h.Instance().Engine().Update(w.ctx, scopes, func(t engine.Txn) error {
		part.Begin(t)
		more := true
		for taken = 0; more && taken < len(list); {
			if more, err = part.Take(list[taken]); err != nil {
				return err
			}
			if more {
				taken++
			}
		}
		part.Finish()
		return fn()
	})
	return taken, err
}

func well() error { return nil }

func TestExpirySink(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("graves")
	cart := host.ExpiredItem{From: "shop/carts", ID: "7", Body: []byte(`{"id":"7"}`), ExpiredAt: start.Add(-time.Hour)}
	n, err := w.bequeath("Graves", well, cart, host.ExpiredItem{From: "shop/carts", ID: "8", Body: []byte("{}")})
	if w.must(err); n != 2 {
		t.Errorf("%d were taken", n)
	}
	list := w.expect("graves", `{"id":"7"} {}`)
	d := list[0]
	if died, _ := wire.Time(d.Message.Get(PropertyDied)); died != cart.ExpiredAt.UnixMilli() ||
		propertyOf(d, PropertySource) != "shop/carts" || propertyOf(d, PropertyID) != "7" ||
		d.Broker.EnqueuedTime != start.UnixMilli() {
		t.Errorf("the message is %+v, %+v", d.Message, d.Broker)
	}
}

// TestExpirySinkErrors checks the error for expired items that a queue or topic cannot take, for example
// because it is full, and that no message is stored if the purge fails.
func TestExpirySinkErrors(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("sessions", sessions)
	w.queue("closed", withStatus(entity.SendDisabled))
	w.queue("full")
	w.create(entity.Topic, "news", entity.Defaults(entity.Topic))
	w.create(entity.Subscription, "news/Subscriptions/all", entity.Defaults(entity.Subscription))
	s, err := w.q.store(w.ctx, entity.Address{Entity: "full"})
	w.must(err)
	p := *s.e.properties.Load()
	p.MaxSizeMB = 0
	s.e.properties.Store(&p)
	dead := host.ExpiredItem{ID: "7", Body: []byte("{}")}
	for name, want := range map[string]entity.ErrorCode{
		"nobody": entity.CodeEntityNotFound, "sessions": entity.CodeArgument,
		"news/Subscriptions/all": entity.CodeArgument, "graves/$DeadLetterQueue": entity.CodeArgument,
		"closed": entity.CodeEntityDisabled, "full": entity.CodeQuotaExceeded} {
		if n, err := w.bequeath(name, well, dead); n != 0 || entity.ErrorCodeOf(err) != want {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	broken := &entity.Error{Code: entity.CodeStorage}
	if _, err := w.bequeath("news", func() error { return broken }, dead); entity.ErrorCodeOf(
		err,
	) != entity.CodeStorage {
		t.Errorf("%v", err)
	}
	w.shows("news/Subscriptions/all", "")
	_, err = w.bequeath("news", well, dead)
	w.must(err)
	w.expect("news/Subscriptions/all", "{}")
}

// TestExpirySinkForwards checks that a queue with ForwardTo forwards the expired items that it receives.
func TestExpirySinkForwards(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("to")
	w.queue("q", forwarding("to"))
	_, err := w.bequeath("q", well, host.ExpiredItem{ID: "7", Body: []byte("{}")})
	w.must(err)
	w.sweep()
	w.expect("to", "{}")
}

// TestExpirySinkTransactionLimit checks that one transaction takes only as many expired items as its size
// limit allows.
func TestExpirySinkTransactionLimit(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.queue("q")
	dead := host.ExpiredItem{ID: "7", Body: make([]byte, 2<<20)}
	n, err := w.bequeath("q", well, dead, dead, dead, dead, dead)
	if w.must(err); n != 2 {
		t.Errorf("%d were taken", n)
	}
}
