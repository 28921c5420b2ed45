package bus

import (
	"reflect"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// managementClient sends requests to the $management node of an entity and receives the responses.
type managementClient struct {
	c     *testClient
	send  uint32 // handle
	reply string
	id    uint32

	state frame.DeliveryState // of a transaction
}

// manage attaches the two links to an entity's $management node: handle to receive, and handle+1 to send.
func (c *testClient) manage(handle uint32, entity string) *managementClient {
	c.t.Helper()
	m := &managementClient{c: c, send: handle + 1, reply: "reply-" + entity}
	c.receiver(handle, entity+"/$management", func(a *frame.Attach) {
		a.Target, a.SndSettleMode, a.RcvSettleMode = target(m.reply), frame.SenderSettled, frame.ReceiverFirst
	})
	c.credit(handle, 0, 1000, false)
	c.sender(m.send, entity+"/$management")
	return m
}

// do sends a request for an operation, fails the test unless the response has the status, and returns the
// body of the response. properties are pairs of a name and a value.
func (m *managementClient) do(status int64, operation string, body wire.Map, properties ...string) wire.Map {
	m.c.t.Helper()
	m.id++
	r := message.New(nil)
	r.SetRaw(message.MessageID, wire.AppendUint64(nil, uint64(m.id)))
	r.SetText(message.ReplyTo, m.reply)
	r.SetString("operation", "com.microsoft:"+operation)
	for i := 0; i < len(properties); i += 2 {
		r.SetString(properties[i], properties[i+1])
	}
	value, err := wire.Append([]byte{0, 0x53, sectionValue}, body)
	if err != nil {
		m.c.t.Fatal(err)
	}
	r.Body = value
	m.c.say(0, &frame.Transfer{Handle: m.send, DeliveryID: frame.Some(m.id), DeliveryTag: []byte{byte(m.id)},
		MessageFormat: frame.Some(0), State: m.state}, r.AppendBare(nil)...)
	got := m.c.sections()
	answer, _ := got[0x74].(wire.Map)
	if s, _ := answer.Get("statusCode"); s != int32(status) {
		m.c.t.Fatalf("%s is answered by %v", operation, answer)
	}
	if id := got[0x73].(wire.List)[message.CorrelationID]; id != uint64(m.id) { // K17
		m.c.t.Fatalf("%s: the answer correlates with %#v", operation, id)
	}
	out, ok := got[sectionValue].(wire.Map)
	if !ok {
		m.c.t.Fatalf("%s: the answer's body is %#v", operation, got[sectionValue])
	}
	return out
}

func pairs(list ...any) (m wire.Map) {
	for i := 0; i < len(list); i += 2 {
		m = append(m, wire.MapEntry{Key: list[i].(string), Value: list[i+1]})
	}
	return m
}

// field returns the entry of a response with that name. It fails the test unless the entry has the type T.
func field[T any](t *testing.T, m wire.Map, name string) (v T) {
	t.Helper()
	got, _ := m.Get(name)
	v, ok := got.(T)
	if !ok {
		t.Fatalf("'%s' is %#v", name, got)
	}
	return v
}

// inside returns the texts of the messages in a response.
func inside(t *testing.T, m wire.Map) (texts []string) {
	t.Helper()
	for _, e := range field[wire.List](t, m, "messages") {
		got, err := message.Parse(field[[]byte](t, e.(wire.Map), "message"))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, textOf(got))
	}
	return texts
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, not %#v", got, want)
	}
}

// TestManageMessages checks management requests that peek at, schedule and defer messages, receive
// deferred ones, and renew locks.
func TestManageMessages(t *testing.T) {
	w := newServiceBusUnderTest(t)
	c := w.attached("a", "b", "c")
	m := c.manage(1, "q")
	one := pairs("from-sequence-number", int64(2), "message-count", int32(2))
	same(t, inside(t, m.do(200, "peek-message", one)), []string{"b", "c"})
	m.do(204, "peek-message", pairs("from-sequence-number", int64(9), "message-count", int32(2)))
	m.do(400, "peek-message", pairs("message-count", int32(0)))
	bare := m.do(200, "peek-message", append(pairs("omit-message-body", true), one...))
	same(t, inside(t, bare), []string{"", ""})
	same(t, inside(t, m.do(200, "peek-message", append(pairs("omit-message-body", false), one...))),
		[]string{"b", "c"})
	m.do(400, "peek-message", append(pairs("omit-message-body", "yes"), one...))

	due := w.q.Now().Add(time.Minute)
	later := message.New([]byte("later"))
	later.SetScheduled(due.UnixMilli())
	nothing := message.BrokerProperties{TTL: message.Absent, ExpiresAt: message.Absent,
		LockedUntil: message.Absent}
	entry := pairs("message-id", "m", "message", later.AppendWire(nil, &nothing))
	list := field[wire.Array](t, m.do(200, "schedule-message", pairs("messages", wire.List{entry, entry})),
		"sequence-numbers") // K11
	same(t, list.Elements, []any{int64(4), int64(5)})
	numbers := func(n ...int64) wire.MapEntry {
		return wire.MapEntry{Key: "sequence-numbers",
			Value: wire.Longs(n)}
	}
	m.do(200, "cancel-scheduled-message", wire.Map{numbers(4)})
	m.do(404, "cancel-scheduled-message", wire.Map{numbers(4)})

	c.say(0, &frame.Disposition{Receiver: true, First: 0, Last: frame.Some(1), State: &frame.Modified{
		UndeliverableHere: true}})
	await[*frame.Disposition](c)
	await[*frame.Disposition](c)
	mode := wire.MapEntry{Key: "receiver-settle-mode", Value: uint32(1)}
	m.do(404, "receive-by-sequence-number", wire.Map{numbers(77), mode})
	got := m.do(200, "receive-by-sequence-number", wire.Map{numbers(1, 2), mode})
	same(t, inside(t, got), []string{"a", "b"})
	var tokens []wire.UUID
	for _, e := range field[wire.List](t, got, "messages") {
		tokens = append(tokens, field[wire.UUID](t, e.(wire.Map), "lock-token"))
	}
	w.advance(30 * time.Second)
	all := wire.MapEntry{Key: "lock-tokens", Value: wire.UUIDs(tokens)}
	until := field[wire.Array](t, m.do(200, "renew-lock", wire.Map{all}), "expirations") // K11
	want := timestamp(w.q.Now().Add(entity.Defaults(entity.Queue).LockDuration))
	same(t, until.Elements, []any{want, want})
	m.do(410, "renew-lock", pairs("lock-tokens", wire.UUIDs([]wire.UUID{{1}})))
	m.do(200, "update-disposition", pairs("disposition-status", "suspended", "deadletter-reason", "why",
		"deadletter-description", "because", "lock-tokens", wire.UUIDs(tokens[:1])))
	m.do(410, "update-disposition", append(pairs("disposition-status", "completed"), all))
	m.do(400, "update-disposition", append(pairs("disposition-status", "odd"), all))
	w.shows("q/$DeadLetterQueue", "a")
	m.do(200, "update-disposition", append(pairs("disposition-status", "completed"),
		wire.MapEntry{Key: "lock-tokens", Value: wire.UUIDs(tokens[1:])}))
	w.shows("q", "c later")

	w.advance(time.Minute) // c's lock lapses, and what was scheduled is there
	w.shows("q", "c later")
	before := pairs("message-count", int32(10), "enqueued-time-utc", timestamp(w.q.Now().Add(time.Second)))
	same(t, m.do(200, "batch-delete-messages", before), pairs("message-count", int32(2)))
	w.shows("q", "")
	m.do(204, "batch-delete-messages", before)
	m.do(501, "nonsense", nil)
	m.do(400, "renew-lock", nil)
}

// TestManageSessions checks management requests about sessions: only the connection that holds a session's
// lock can renew it and read or set the session's state.
func TestManageSessions(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "talks", withSessions)
	w.send("talks", "s1:a", "s2:b")
	c := w.dial(1 << 16)
	m := c.manage(1, "talks")
	s1 := pairs("session-id", "s1")
	m.do(410, "renew-session-lock", s1)
	m.do(410, "get-session-state", s1)
	c.say(0, sessionOf("s", "s1"))
	await[*frame.Attach](c)
	same(t, field[wire.Timestamp](t, m.do(200, "renew-session-lock", s1), "expiration"),
		timestamp(w.q.Now().Add(entity.Defaults(entity.Queue).LockDuration)))
	same(t, m.do(200, "get-session-state", s1), pairs("session-state", nil))
	m.do(200, "set-session-state", append(pairs("session-state", []byte("state")), s1...))
	same(t, m.do(200, "get-session-state", s1), pairs("session-state", []byte("state")))
	m.do(400, "set-session-state", append(pairs("session-state", "text"), s1...))
	for _, nothing := range []any{nil, []byte{}} { // some clients send the one, others the other
		m.do(200, "set-session-state", append(pairs("session-state", []byte("state")), s1...))
		m.do(200, "set-session-state", append(pairs("session-state", nothing), s1...))
		same(t, m.do(200, "get-session-state", s1), pairs("session-state", nil))
	}

	const ever = wire.Timestamp(253402300800000)
	whatever := pairs("last-updated-time", ever, "skip", int32(0), "top", int32(100))
	got := m.do(200, "get-message-sessions", whatever)
	same(t, field[wire.Array](t, got, "sessions-ids").Elements, []any{"s1", "s2"}) // K11
	same(t, field[int32](t, got, "skip"), int32(2))
	m.do(204, "get-message-sessions", pairs("last-updated-time", ever, "skip", int32(2), "top", int32(100)))
	c.credit(0, 0, 10, false)
	first := c.sections()
	until, _ := first[0x72].(wire.Map).Get("x-opt-locked-until")
	same(t, until, any(wire.Timestamp(message.LastMoment)))
	s3 := sessionOf("s3", "s3")
	s3.Handle = 4
	c.say(0, s3)
	await[*frame.Attach](c)
	m.do(200, "set-session-state", pairs("session-id", "s3", "session-state", []byte("state")))
	got = m.do(200, "get-message-sessions", whatever)
	same(t, field[wire.Array](t, got, "sessions-ids").Elements, []any{"s1", "s2", "s3"})

	peek := pairs("from-sequence-number", int64(0), "message-count", int32(10))
	same(t, inside(t, m.do(200, "peek-message", peek)), []string{"s1:a", "s2:b"})
	of2 := append(pairs("session-id", "s2"), peek...)
	same(t, inside(t, m.do(200, "peek-message", of2)), []string{"s2:b"})
	same(t, inside(t, m.do(200, "peek-message", peek, "associated-link-name", "s")), []string{"s1:a"})

	other := w.dial(1 << 16)
	o := other.manage(1, "talks")
	o.do(410, "renew-session-lock", s1)
	o.do(410, "set-session-state", append(pairs("session-state", []byte("x")), s1...))
}

// TestManageRules checks that rules are added, listed and removed by management requests. Listed rules
// have numeric descriptors and always an action.
func TestManageRules(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Topic, "t")
	w.create(entity.Subscription, "t/Subscriptions/s")
	m := w.dial(1<<16).manage(1, "t/Subscriptions/s")
	add := func(status int64, name string, description wire.Map) {
		t.Helper()
		m.do(status, "add-rule", pairs("rule-name", name, "rule-description", description))
	}
	m.do(200, "remove-rule", pairs("rule-name", "$Default"))
	m.do(404, "remove-rule", pairs("rule-name", "$Default"))
	m.do(204, "enumerate-rules", pairs("top", int32(100), "skip", int32(0)))
	sql := pairs("sql-filter", pairs("expression", "a > 1"),
		"sql-rule-action", pairs("expression", "SET b = 2"))
	add(200, "1", sql)
	add(409, "1", sql)
	add(400, "bad", pairs("sql-filter", pairs("expression", "a >")))
	numbers := pairs("a", int8(1), "b", int16(2), "c", int32(3), "d", int64(4), "e", uint8(5), "f", uint16(6),
		"g", uint32(7), "h", uint64(1<<63+1), "i", float32(1.5), "j", 2.5)
	add(200, "2", pairs("correlation-filter", pairs("label", "l", "properties", numbers)))
	add(200, "3", pairs("true-filter", wire.Map{}, "sql-rule-action", nil))
	add(200, "4", pairs("false-filter", wire.Map{}))
	rules := func(top, skip int32) wire.List {
		t.Helper()
		return field[wire.List](t, m.do(200, "enumerate-rules", pairs("top", top, "skip", skip)), "rules")
	}
	list := rules(100, 0)
	described := func(code uint64, list ...any) wire.Described {
		return wire.Described{Descriptor: code, Value: append(wire.List{}, list...)}
	}
	none := described(descEmptyAction)
	for i, want := range [][2]wire.Described{
		{described(descSQLFilter, "a > 1", compatibility),
			described(descSQLAction, "SET b = 2", compatibility)},
		{described(descCorrelationFilter, nil, nil, nil, nil, "l", nil, nil, nil,
			numbers), none}, // each in the type in which it was given
		{described(descTrueFilter), none}, {described(descFalseFilter), none},
	} {
		d := field[wire.Described](t, list[i].(wire.Map), "rule-description")
		parts, _ := d.Value.(wire.List)
		if d.Descriptor != uint64(descRule) || len(parts) != 4 { // K20
			t.Fatalf("a rule is %#v", d)
		}
		same(t, parts[:3], wire.List{want[0], want[1], string('1' + rune(i))})
		same(t, parts[3], any(timestamp(w.q.Now())))
	}
	if list = rules(1, 3); len(list) != 1 {
		t.Errorf("%d rules after three", len(list))
	}
}

// TestReplyRouting checks to which link a response is sent: to the one whose target or name is the reply
// address of the request, or to the only one. If there is none the request is rejected. A link with that
// target may be in another session of the connection, as in the older SDK for Java.
func TestReplyRouting(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.send("q", "a")
	c := w.dial(1 << 16)
	c.sender(9, "q/$management")
	ask := func(reply string) {
		r := message.New(nil)
		if r.SetString("operation", "com.microsoft:peek-message"); reply != "" {
			r.SetText(message.ReplyTo, reply)
		}
		r.Body, _ = wire.Append([]byte{0, 0x53, sectionValue}, pairs("message-count", int32(1)))
		c.transfer(9, 1, r)
	}
	ask("")
	if s := await[*frame.Disposition](c).State; !isState[*frame.Rejected](s) {
		t.Errorf("an answer that can go nowhere: %+v", s)
	}
	link := func(handle uint32, name string, to *frame.Target) {
		c.say(0, &frame.Attach{Name: name, Handle: handle, Receiver: true,
			Source: source("q/$management"), Target: to})
		await[*frame.Attach](c)
		c.credit(handle, 0, 10, false)
	}
	link(0, "by-target", target("to-1"))
	ask("") // the only one
	if f, _ := awaitFrame[*frame.Transfer](c); f.Handle != 0 || f.Settled {
		t.Errorf("the only one: %+v", f)
	}
	link(1, "by-name", &frame.Target{})
	for reply, want := range map[string]uint32{"to-1": 0, "by-name": 1} {
		ask(reply)
		if f, _ := awaitFrame[*frame.Transfer](c); f.Handle != want {
			t.Errorf("%s: %+v", reply, f)
		}
	}
	c.begin(1, 100)
	c.say(1, &frame.Attach{Name: "elsewhere", Receiver: true, Source: source("q/$management"),
		Target: target("to-2")})
	await[*frame.Attach](c)
	c.say(1, &frame.Flow{IncomingWindow: 100, OutgoingWindow: 100, Handle: frame.Some(0),
		DeliveryCount: frame.Some(0), LinkCredit: frame.Some(10)})
	for reply, want := range map[string]uint16{"to-1": 0, "to-2": 1} {
		ask(reply)
		if _, f := awaitFrame[*frame.Transfer](c); f.channel != want {
			t.Errorf("%s: an answer on channel %d", reply, f.channel)
		}
	}
}
