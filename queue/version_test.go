package queue

import (
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// TestRereadOfAnOlderState lets a server read the records of a topic from a snapshot, after it has learned
// of newer changes by another server. The older records must not undo these changes.
func TestRereadOfAnOlderState(t *testing.T) {
	t.Parallel()
	a, b := newServers(t, Options{})
	a.topic("t", entity.Forever, map[string]func(*entity.Properties){"before": nil})
	b.send("t", msg("A"))
	a.expect("t/Subscriptions/before", "A")
	m, err := b.q.dataset()
	b.must(err)
	b.must(m.in.Engine().View(b.ctx, func(r engine.Reader) error {
		if _, err := r.Positions([][]byte{m.list()[0].scope}); err != nil { // takes the snapshot
			return err
		}
		a.remove("t/Subscriptions/before")
		a.create(entity.Subscription, "t/Subscriptions/after", entity.Defaults(entity.Subscription))
		if err := m.refresh(b.ctx); err != nil {
			return err
		}
		return m.reread(b.ctx, r)
	}))
	if _, err := m.find(entity.Address{Entity: "t/Subscriptions/before"}); err == nil {
		t.Error("the deleted subscription is there again")
	}
	b.must(b.q.Send(b.ctx, entity.Address{Entity: "t"}, []*message.Message{msg("B")}, nil))
	a.expect("t/Subscriptions/after", "B")
}
