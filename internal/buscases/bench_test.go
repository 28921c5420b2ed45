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

// start is the time of the clock at the beginning of each case. It is a whole second, since dates in HTTP
// headers have no fractions.
var start = time.Date(2026, 7, 2, 1, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caseFixture is the environment of one case on one surface (an interface for clients): the queues, their
// clock and disk, and the clients by which the case uses them.
type caseFixture struct {
	*testing.T
	ctx  context.Context
	fs   *crashdisk.Disk
	base *ttl.VirtualClock
	opts queue.Options
	q    *queue.Queues
	h    *host.Host
	connectFunc

	messages messagingClient
	look     messagePeeker
	plan     messageScheduler
	talk     sessionAcceptor
	wait     receiverStarter
	bulk     batchSender
	entities entityManager
	peer     *amqpClient // the client of AMQP; nil on other surfaces
	web      *restClient // that of REST or ATOM, likewise
}

// connectFunc connects a caseFixture to its queues by one surface (AMQP, REST or the management API): it
// replaces the fixture's clients, which call the Go API, by clients of that surface. It is called each time
// the fixture has opened its queues.
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

// restart closes the queues and opens them again with the same data.
func (b *caseFixture) restart() {
	b.Helper()
	b.hangUp()
	b.must(b.h.Close())
	b.open()
}

// hangUp breaks the AMQP client's connection, if there is one.
func (b *caseFixture) hangUp() {
	if b.peer != nil {
		b.peer.hangUp()
	}
}

// cut breaks the AMQP client's connection, if there is one, and connects again.
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

// refuses fails the test unless err is what the surface returns for the error code.
func (b *caseFixture) refuses(err error, code entity.ErrorCode) {
	b.Helper()
	if err == nil || !b.messages.refused(err, code) {
		b.Fatalf("the error is %v, not of code %d", err, code)
	}
}

// at sets the clock to the time d after start. It does not run the reaper, since receivers must not depend
// on it.
func (b *caseFixture) at(d time.Duration) {
	b.Helper()
	to := start.Add(d)
	_, err := b.h.Instance().SetClock(b.ctx, ttl.ClockChangeRequest{Set: &to})
	b.must(err)
}

// swept sets the clock to the time d after start and runs the reaper, which purges what has expired, once.
func (b *caseFixture) swept(d time.Duration) {
	b.Helper()
	b.at(d)
	_, err := b.h.Instance().SweepNow(b.ctx)
	b.must(err)
}

type setEntityPropertiesFunc = func(*entity.Properties)

func (b *caseFixture) create(kind entity.Kind, path string, list ...setEntityPropertiesFunc) {
	b.Helper()
	b.must(b.tryCreate(kind, path, list...))
}

func (b *caseFixture) tryCreate(kind entity.Kind, path string, list ...setEntityPropertiesFunc) error {
	p := entity.Defaults(kind)
	for _, fn := range list {
		fn(&p)
	}
	return b.entities.create(kind, path, p)
}

// queue creates a queue with the default properties, changed by list.
func (b *caseFixture) queue(name string, list ...setEntityPropertiesFunc) {
	b.Helper()
	b.create(entity.Queue, name, list...)
}

func (b *caseFixture) subscription(name string, list ...setEntityPropertiesFunc) string {
	b.Helper()
	path := entity.SubscriptionPath("t", name)
	b.create(entity.Subscription, path, list...)
	return path
}

// update changes the properties of the entity at path.
func (b *caseFixture) update(path string, list ...setEntityPropertiesFunc) {
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

// exists fails the test unless there is an entity at path, or none if want is false.
func (b *caseFixture) exists(path string, want bool) {
	b.Helper()
	_, err := b.entities.get(path)
	if (err == nil) != want || err != nil && entity.ErrorCodeOf(err) != entity.CodeEntityNotFound {
		b.Fatalf("%s: %v", path, err)
	}
}

func defaultTTL(d time.Duration) setEntityPropertiesFunc {
	return func(p *entity.Properties) { p.DefaultTTL = d }
}
func locks(d time.Duration) setEntityPropertiesFunc {
	return func(p *entity.Properties) { p.LockDuration = d }
}
func deliveries(n int32) setEntityPropertiesFunc {
	return func(p *entity.Properties) { p.MaxDeliveryCount = n }
}
func idle(d time.Duration) setEntityPropertiesFunc {
	return func(p *entity.Properties) { p.AutoDeleteOnIdle = d }
}
func status(s entity.Status) setEntityPropertiesFunc {
	return func(p *entity.Properties) { p.Status = s }
}
func forwards(to string) setEntityPropertiesFunc {
	return func(p *entity.Properties) { p.ForwardTo = to }
}
func deadLetters(p *entity.Properties) { p.DeadLetterOnExpiration = true }
func sessions(p *entity.Properties)    { p.RequiresSession = true }
func deduplicates(d time.Duration) setEntityPropertiesFunc {
	return func(p *entity.Properties) { p.RequiresDuplicateDetection, p.DuplicateDetectionWindow = true, d }
}

// msg returns a message whose body and message id are both text.
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

// texts returns the bodies of messages in one line, like "A B+1". The number after the plus is that of
// failed deliveries, if there were any.
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

// expect receives and locks all available messages of an address and returns them. It fails the test unless
// their bodies and delivery counts, formatted as one text, equal want.
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

// locked receives and locks one message of the entity at address. It fails the test unless the message is
// want: its body, with +n appended after n failed deliveries.
func (b *caseFixture) locked(address, want string) receivedMessage {
	b.Helper()
	return b.expectOf(address, queue.PeekLock, 1, want)[0]
}

// shows peeks at the messages of the entity at address and returns them. It fails the test unless they are
// those in want, which lists their bodies in one line, such as "A B+1"; the number after a plus is that of
// failed deliveries.
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
	b.must(b.messages.settle(address, m, queue.SettlementRequest{Outcome: o, Modify: modify}))
}

// loses tries to settle a message and fails the test unless the error is that its lock is lost.
func (b *caseFixture) loses(address string, m receivedMessage, o queue.SettlementOutcome) {
	b.Helper()
	b.refuses(b.messages.settle(address, m, queue.SettlementRequest{Outcome: o}), entity.CodeMessageLockLost)
}

// kill moves a locked message to the dead-letter queue with a reason and a description.
func (b *caseFixture) kill(address string, m receivedMessage, reason, description string,
	modify ...message.ApplicationProperty) {
	b.Helper()
	b.must(b.messages.settle(address, m, queue.SettlementRequest{Outcome: queue.DeadLetter, Reason: &reason,
		Description: &description, Modify: modify}))
}

// dead receives and deletes all dead-lettered messages of the entity at path, and fails the test unless
// they are want: bodies with their reasons, like "A:TTLExpiredException".
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

// equal fails the test unless have equals want; what is the name of the value in the message.
func equal[T comparable](b *caseFixture, what string, have, want T) {
	b.Helper()
	if have != want {
		b.Fatalf("%s is %v, not %v", what, have, want)
	}
}

func property(name, value string) message.ApplicationProperty {
	return message.ApplicationProperty{Name: name, Value: wire.AppendString(nil, value)}
}

// after returns the time d after the start of the case.
func after(d time.Duration) time.Time { return start.Add(d) }

// invalid fails the test unless err says that a property of an entity has an invalid value.
func (b *caseFixture) invalid(err error) {
	b.Helper()
	var web *statusError
	if errors.As(err, &web) && web.status == http.StatusBadRequest {
		return
	}
	equal(b, "the refusal", entity.ErrorCodeOf(err), entity.CodeArgumentOutOfRange)
}
