package hook_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/hook"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

func (g *deliveryFixture) entity(kind entity.Kind, path string, p entity.Properties) {
	g.t.Helper()
	_, err := g.q.Create(g.ctx, kind, path, p)
	g.must(err)
}

func (g *deliveryFixture) changesTo(path string) error {
	_, err := g.c.ChangeSettings(g.ctx, func(s *store.ContainerSettings) error {
		s.ChangesTo = path
		return nil
	})
	return err
}

// write upserts n items with the ids from, from+1 and so on, in several partitions. Each contains text,
// which sets its size.
func (g *deliveryFixture) write(from, n int, text string) {
	g.t.Helper()
	for i := from; i < from+n; i++ {
		pk := fmt.Sprint("p", i%4)
		_, _, err := g.c.Upsert(g.ctx, definition.NewPartitionKey(jsondoc.StringValue(pk)),
			fmt.Appendf(nil, `{"id":"i%03d","pk":%q,"text":%q}`, i, pk, text), store.WriteOptions{})
		g.must(err)
	}
}

// messages receives and deletes n messages from a queue or subscription, checks their properties, and
// returns the ids of the documents in them.
func (g *deliveryFixture) messages(path string, n int) (ids []string) {
	g.t.Helper()
	a, _, err := entity.ParseAddress(path)
	g.must(err)
	r, err := g.q.OpenReceiver(g.ctx, a, queue.ReceiverOptions{Mode: queue.ReceiveAndDelete})
	g.must(err)
	defer r.Close()
	for len(ids) < n {
		list, err := r.Receive(g.ctx, n-len(ids))
		g.must(err)
		for _, d := range list {
			body, _ := d.Message.Data()
			id := jsondoc.Of(body).Member("id").Str()
			if from := string(d.Message.Get(hook.PropertySource)); !strings.HasSuffix(from, "db/c") ||
				d.Message.Text(message.ContentType) != "application/json" ||
				d.Message.Get(hook.PropertyLSN) == nil || d.Message.Get(hook.PropertyTime) == nil ||
				!strings.HasSuffix(string(d.Message.Get(hook.PropertyID)), id) {
				g.t.Errorf("%s: %q", body, from)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// kept waits until the position that is stored for the given subscription to changes is at the end of the
// change feed: everything was delivered.
func (g *deliveryFixture) kept(name string) {
	g.t.Helper()
	for {
		at, err := g.c.Confirmed(g.ctx, name)
		g.must(err)
		page, _, err := g.c.Changes(g.ctx, store.ChangesRequest{Start: store.ChangesStart{After: at}})
		g.must(err)
		if at != "" && len(page.Changes) == 0 {
			return
		}
	}
}

// TestChangesToAQueue checks that changes are sent to the queue in the settings, each once if nothing
// fails, and that after a restart sending continues at the stored position.
func TestChangesToAQueue(t *testing.T) {
	g := newDeliveryFixture(t)
	g.entity(entity.Queue, "news", entity.Properties{})
	if err := g.changesTo("absent"); fault.ErrorCode(err) != fault.CodeBadRequest {
		t.Errorf("a queue that is not there: %v", err)
	}
	g.write(0, 5, "")
	g.must(g.changesTo("news"))
	g.wantAll("what was there", g.messages("news", 5), 0, 5)
	g.kept("changes:news")
	g.reopen()
	g.write(5, 4, strings.Repeat("x", 300<<10)) // larger than what clients can send
	g.wantAll("after a restart", g.messages("news", 4), 5, 4)
	g.must(g.changesTo(""))
	if _, err := g.c.Confirmed(g.ctx, "changes:news"); fault.ErrorCode(err) != fault.CodeNotFound {
		t.Errorf("a position is left: %v", err)
	}
}

// TestChangesForDeletedQueue checks a container that sends its changed documents to a queue: if the queue was
// deleted, the delivery fails, and is repeated once the queue exists again.
func TestChangesForDeletedQueue(t *testing.T) {
	g := newDeliveryFixture(t)
	g.entity(entity.Queue, "news", entity.Properties{})
	g.must(g.changesTo("news"))
	g.must(g.q.Delete(g.ctx, "news"))
	g.write(0, 2, "")
	pause := <-g.wall.asleep
	if s := g.d.Status(); len(s) != 1 || s[0].ChangesTo != "news" || s[0].Failures != 1 ||
		entity.ErrorCodeOf(s[0].Err) != entity.CodeEntityNotFound {
		t.Errorf("%+v", s)
	}
	g.entity(entity.Queue, "news", entity.Properties{})
	g.wall.Advance(pause)
	g.wantAll("afterwards", g.messages("news", 2), 0, 2)
}

// blockingQueueSender is a QueueSender that sends the messages and then blocks until ctx ends. To the
// deliverer this looks as if the process ended before the position after the messages was stored.
type blockingQueueSender struct {
	q    **queue.Queues
	sent chan int
}

func (s blockingQueueSender) Put(ctx context.Context, path string, list []*message.Message) error {
	if err := (*s.q).Put(ctx, path, list); err != nil {
		return err
	}
	s.sent <- len(list)
	<-ctx.Done()
	return ctx.Err()
}

// TestChangesResentAfterLostPosition checks that changes whose position was not stored are sent again with
// the same message ids, so that a queue with duplicate detection holds each once.
func TestChangesResentAfterLostPosition(t *testing.T) {
	for _, detects := range []bool{false, true} {
		t.Run(fmt.Sprint("detection ", detects), func(t *testing.T) {
			g := newDeliveryFixture(t)
			g.d.Close()
			g.must(g.db.Close())
			s := blockingQueueSender{&g.q, make(chan int, 100)}
			g.to = s
			g.open()
			d, err := g.db.Database("db")
			g.must(err)
			g.c, err = d.Container("c")
			g.must(err)
			g.entity(entity.Queue, "news", entity.Properties{RequiresDuplicateDetection: detects})
			g.write(0, 7, "")
			g.must(g.changesTo("news"))
			first := <-s.sent
			g.to = nil
			g.reopen()
			want := 7
			if !detects {
				want += first
			}
			ids := g.messages("news", want)
			slices.Sort(ids)
			g.wantAll("all", slices.Compact(ids), 0, 7)
			g.kept("changes:news")
		})
	}
}

// TestChangesToATopic checks that changes that are sent to a topic reach its subscription.
func TestChangesToATopic(t *testing.T) {
	g := newDeliveryFixture(t)
	g.entity(entity.Topic, "news", entity.Properties{})
	g.entity(entity.Subscription, "news/Subscriptions/all", entity.Properties{})
	g.must(g.changesTo("news"))
	g.write(0, 3, "")
	g.wantAll("news", g.messages("news/Subscriptions/all", 3), 0, 3)
}
