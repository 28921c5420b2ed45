package buscases

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/crashdisk"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// start is when the clock of each case begins: a whole second, since HTTP's dates have no smaller parts.
var start = time.Date(2026, 7, 2, 1, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caseFixture is where one case runs on one surface.
type caseFixture struct {
	*testing.T
	ctx  context.Context
	fs   *crashdisk.Disk
	base *ttl.VirtualClock
	opts queue.Options
	q    *queue.Queues
	h    *host.Host
	connectFunc

	messages messenger
	look     messagePeeker
	plan     messageScheduler
	talk     sessionAcceptor
	wait     waitingReceiver
	bulk     batchSender
	entities entityManager
	peer     *amqpClient // the client of AMQP; nil on other surfaces
	web      *httpClient // that of REST or ATOM, likewise
}

// connectFunc makes the surfaces of a server that is open.
type connectFunc func(b *caseFixture)

func newCaseFixture(t *testing.T, o queue.Options, fn connectFunc) *caseFixture {
	b := &caseFixture{T: t, ctx: context.WithoutCancel(t.Context()), fs: crashdisk.New(),
		base: ttl.NewManual(start), opts: o, connectFunc: fn}
	b.open()
	t.Cleanup(func() {
		b.hangUp()
		b.must(b.q.Check(b.ctx, func(err error) bool { t.Error(err); return true }))
		b.must(b.h.Close())
	})
	return b
}

func (b *caseFixture) open() {
	b.Helper()
	e, err := pebble.Open(b.ctx, pebble.Options{Dir: "data", FS: b.fs, Strict: true})
	b.must(err)
	b.q = queue.New(b.opts)
	b.h, err = host.Open(b.ctx, e, host.Options{Clock: ttl.NewVirtualClock(b.base), ManualReaper: true},
		b.q.Tenant())
	b.must(err)
	direct := &goAPIClient{b}
	b.messages, b.look, b.plan, b.talk, b.entities = direct, direct, direct, direct, direct
	b.wait, b.bulk = direct, direct
	b.connectFunc(b)
}

// restart stops the server and starts it again.
func (b *caseFixture) restart() {
	b.Helper()
	b.hangUp()
	b.must(b.h.Close())
	b.open()
}

// hangUp breaks the client's connection off, where it has one.
func (b *caseFixture) hangUp() {
	if b.peer != nil {
		b.peer.hangUp()
	}
}

// cut is hangUp and a new connection.
func (b *caseFixture) cut() {
	b.Helper()
	b.hangUp()
	if b.peer != nil {
		b.connectFunc(b)
	}
}

func (b *caseFixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// refuses expects an error of a code, as the surface tells it.
func (b *caseFixture) refuses(err error, code entity.ErrorCode) {
	b.Helper()
	if err == nil || !b.messages.refused(err, code) {
		b.Fatalf("the error is %v, not of code %d", err, code)
	}
}

// at moves the clock to so long after the start, and not the reaper: receivers must not depend on it.
func (b *caseFixture) at(d time.Duration) {
	b.Helper()
	to := start.Add(d)
	_, err := b.h.Instance().SetClock(b.ctx, ttl.ClockChange{Set: &to})
	b.must(err)
}

// swept moves the clock and lets the reaper go round.
func (b *caseFixture) swept(d time.Duration) {
	b.Helper()
	b.at(d)
	_, err := b.h.Instance().SweepNow(b.ctx)
	b.must(err)
}

type propertiesChange = func(*entity.Properties)

func (b *caseFixture) create(kind entity.Kind, path string, list ...propertiesChange) {
	b.Helper()
	b.must(b.tryCreate(kind, path, list...))
}

func (b *caseFixture) tryCreate(kind entity.Kind, path string, list ...propertiesChange) error {
	p := entity.Defaults(kind)
	for _, fn := range list {
		fn(&p)
	}
	return b.entities.create(kind, path, p)
}

// queue makes a queue, topic a topic "t" with subscriptions.
func (b *caseFixture) queue(name string, list ...propertiesChange) {
	b.Helper()
	b.create(entity.Queue, name, list...)
}

func (b *caseFixture) subscription(name string, list ...propertiesChange) string {
	b.Helper()
	path := entity.SubscriptionPath("t", name)
	b.create(entity.Subscription, path, list...)
	return path
}

// update changes what an entity has.
func (b *caseFixture) update(path string, list ...propertiesChange) {
	b.Helper()
	e, err := b.entities.get(path)
	b.must(err)
	p := e.Properties
	for _, fn := range list {
		fn(&p)
	}
	b.must(b.entities.update(e.Kind, path, p))
}

func (b *caseFixture) get(path string) entity.Entity {
	b.Helper()
	e, err := b.entities.get(path)
	b.must(err)
	return e
}

// exists expects that an entity is there, or is not.
func (b *caseFixture) exists(path string, want bool) {
	b.Helper()
	_, err := b.entities.get(path)
	if (err == nil) != want || err != nil && entity.ErrorCodeOf(err) != entity.CodeEntityNotFound {
		b.Fatalf("%s: %v", path, err)
	}
}

func defaultTTL(d time.Duration) propertiesChange {
	return func(p *entity.Properties) { p.DefaultTTL = d }
}
func locks(d time.Duration) propertiesChange {
	return func(p *entity.Properties) { p.LockDuration = d }
}
func deliveries(n int32) propertiesChange {
	return func(p *entity.Properties) { p.MaxDeliveryCount = n }
}
func idle(d time.Duration) propertiesChange {
	return func(p *entity.Properties) { p.AutoDeleteOnIdle = d }
}
func status(s entity.Status) propertiesChange { return func(p *entity.Properties) { p.Status = s } }
func forwards(to string) propertiesChange     { return func(p *entity.Properties) { p.ForwardTo = to } }
func deadLetters(p *entity.Properties)        { p.DeadLetterOnExpiration = true }
func sessions(p *entity.Properties)           { p.RequiresSession = true }
func deduplicates(d time.Duration) propertiesChange {
	return func(p *entity.Properties) { p.RequiresDuplicateDetection, p.DuplicateDetectionWindow = true, d }
}

// msg makes a message: its text is its id, too.
func msg(text string, set ...func(*message.Message)) *message.Message {
	m := message.New([]byte(text))
	m.SetText(message.MessageID, text)
	for _, fn := range set {
		fn(m)
	}
	return m
}

func lives(d time.Duration) func(*message.Message) {
	return func(m *message.Message) { m.SetOwnTTL(d.Milliseconds(), start.UnixMilli()) }
}

func due(d time.Duration) func(*message.Message) {
	return func(m *message.Message) { m.SetScheduled(start.Add(d).UnixMilli()) }
}

func of(session string) func(*message.Message) {
	return func(m *message.Message) { m.SetText(message.GroupID, session) }
}

func named(id string) func(*message.Message) {
	return func(m *message.Message) { m.SetText(message.MessageID, id) }
}

func with(name, value string) func(*message.Message) {
	return func(m *message.Message) { m.SetString(name, value) }
}

func (b *caseFixture) send(address string, list ...*message.Message) {
	b.Helper()
	b.must(b.messages.send(address, list...))
}

// texts are messages in short: "A" or, with failed deliveries, "A+1".
func texts(list []receivedMessage) string {
	var words []string
	for _, m := range list {
		word := m.text
		if m.count > 0 {
			word += fmt.Sprintf("+%d", m.count)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// expect locks all that there is and compares.
func (b *caseFixture) expect(address, want string) []receivedMessage {
	b.Helper()
	return b.expectOf(address, queue.PeekLock, 100, want)
}

func (b *caseFixture) expectOf(address string, mode queue.ReceiveMode, most int,
	want string) []receivedMessage {
	b.Helper()
	list, err := b.messages.receive(address, mode, most)
	b.must(err)
	if text := texts(list); text != want {
		b.Fatalf("received %q of %s, not %q", text, address, want)
	}
	return list
}

// locked locks the one message that there is.
func (b *caseFixture) locked(address, want string) receivedMessage {
	b.Helper()
	return b.expectOf(address, queue.PeekLock, 1, want)[0]
}

// shows compares what a peek shows.
func (b *caseFixture) shows(address, want string) []receivedMessage {
	b.Helper()
	list, err := b.look.peek(address)
	b.must(err)
	if text := texts(list); text != want {
		b.Fatalf("a peek at %s shows %q, not %q", address, text, want)
	}
	return list
}

func (b *caseFixture) settle(address string, m receivedMessage, o queue.SettlementOutcome,
	modify ...message.ApplicationProperty) {
	b.Helper()
	b.must(b.messages.settle(address, m, queue.Settlement{Outcome: o, Modify: modify}))
}

// loses expects that a lock is lost.
func (b *caseFixture) loses(address string, m receivedMessage, o queue.SettlementOutcome) {
	b.Helper()
	b.refuses(b.messages.settle(address, m, queue.Settlement{Outcome: o}), entity.CodeMessageLockLost)
}

// kill dead-letters a message with a reason.
func (b *caseFixture) kill(address string, m receivedMessage, reason, description string,
	modify ...message.ApplicationProperty) {
	b.Helper()
	b.must(b.messages.settle(address, m, queue.Settlement{Outcome: queue.DeadLetter, Reason: &reason,
		Description: &description, Modify: modify}))
}

// dead takes the dead letters and compares them with their reasons: "A:TTLExpiredException".
func (b *caseFixture) dead(path, want string) []receivedMessage {
	b.Helper()
	list, err := b.messages.receive(path+"/$DeadLetterQueue", queue.ReceiveAndDelete, 2000)
	b.must(err)
	var words []string
	for _, m := range list {
		words = append(words, m.text+":"+m.property("DeadLetterReason"))
	}
	if text := strings.Join(words, " "); text != want {
		b.Fatalf("dead letters are %q, not %q", text, want)
	}
	return list
}

// equal compares two things.
func equal[T comparable](b *caseFixture, what string, have, want T) {
	b.Helper()
	if have != want {
		b.Fatalf("%s is %v, not %v", what, have, want)
	}
}

func property(name, value string) message.ApplicationProperty {
	return message.ApplicationProperty{Name: name, Value: wire.AppendString(nil, value)}
}

// after is a moment of the case.
func after(d time.Duration) time.Time { return start.Add(d) }

// invalid expects that an entity is refused for what is wanted of it.
func (b *caseFixture) invalid(err error) {
	b.Helper()
	var web *statusError
	if errors.As(err, &web) && web.status == http.StatusBadRequest {
		return
	}
	equal(b, "the refusal", entity.ErrorCodeOf(err), entity.CodeArgumentOutOfRange)
}
