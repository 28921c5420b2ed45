package bus

import (
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// TestSecurityLayer checks which SASL mechanisms and credentials are accepted, also if the client sends
// its header and its first frame in one packet.
func TestSecurityLayer(t *testing.T) {
	for _, c := range []struct {
		mechanism wire.Symbol
		response  string
		code      uint8
	}{
		{"ANONYMOUS", "", frame.SASLOK}, {"MSSBCBS", "", frame.SASLOK}, {"EXTERNAL", "", frame.SASLOK},
		{"PLAIN", "\x00RootManageSharedAccessKey\x00SAS_KEY_VALUE", frame.SASLOK},
		{"PLAIN", "\x00Unknown\x00SAS_KEY_VALUE", frame.SASLAuth}, {"PLAIN", "x", frame.SASLAuth},
		{"GSSAPI", "", frame.SASLAuth},
	} {
		w := newServiceBusUnderTest(t)
		w.bus = New(Options{Queues: w.q, Guard: access.New(access.TokenVerifierOptions{})})
		cl := w.pipe()
		header := frame.HeaderSASL()
		init := frame.Append(header[:], 0,
			&frame.SASLInit{Mechanism: c.mechanism, Response: []byte(c.response)},
			nil)
		go func() { _, _ = cl.conn.Write(init) }() // in one packet
		cl.read(header[:])
		cl.listen()
		if m := await[*frame.SASLMechanisms](cl); m.List[0] != "MSSBCBS" {
			t.Errorf("the mechanisms are %v", m.List)
		}
		if o := await[*frame.SASLOutcome](cl); o.Code != c.code {
			t.Errorf("%s %q: %d, not %d", c.mechanism, c.response, o.Code, c.code)
		}
	}
}

// TestForeignHeader checks that the server answers a client that sends another protocol header with the
// header that it supports.
func TestForeignHeader(t *testing.T) {
	for _, header := range []string{"AMQP\x00\x00\x09\x01", "GET / HT"} {
		c := newServiceBusUnderTest(t).pipe()
		go func() { _, _ = c.conn.Write([]byte(header)) }()
		want := frame.HeaderSASL()
		c.read(want[:])
	}
}

// put sends a token for an audience (the address of an entity) to $cbs and returns the response. It uses
// the handles handle and handle+1.
func (c *testClient) put(handle uint32, audience, token string) *message.Message {
	c.t.Helper()
	return c.ask(handle, "$cbs", "put-token", nil, func(m *message.Message) {
		m.SetString("name", audience)
		m.SetString("type", "servicebus.windows.net:sastoken")
		value, err := wire.Append(nil, token)
		if err != nil {
			c.t.Fatal(err)
		}
		m.Body = append([]byte{0, 0x53, 0x77}, value...)
	})
}

func number(t *testing.T, m *message.Message, name string) int64 {
	t.Helper()
	raw := m.Get(name)
	if len(raw) == 0 || raw[0] != 0x71 && raw[0] != 0x54 {
		t.Fatalf("%s is %x, which is no int", name, raw)
	}
	n, _ := wire.Integer(raw)
	return n
}

// TestClaims checks that links are accepted only with a valid token: not without one, not with one that
// has expired, and not with one for another key.
func TestClaims(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	all, sender := access.EmulatorKey(), access.Key{Name: "s", Rights: access.Send, Text: "one"}
	w.bus = New(Options{Queues: w.q,
		Guard: access.New(access.TokenVerifierOptions{Mode: access.Strict, Keys: []access.Key{all, sender}})})
	c := w.dial(1 << 16)
	text := ""
	refused := func(address string, receiver bool) {
		t.Helper()
		if receiver {
			c.receiver(50, address)
		} else {
			c.sender(50, address)
		}
		d := await[*frame.Detach](c)
		if !d.Closed || d.Error == nil || d.Error.Condition != "amqp:unauthorized-access" {
			t.Errorf("%s: %+v", address, d)
		}
		text = d.Error.Description
		c.say(0, &frame.Detach{Handle: 50, Closed: true})
	}
	refused("q", false)
	now := ttl.SystemClock{}.Now()
	for i, token := range []string{"nonsense", access.Sign(access.Key{Name: "s", Text: "other"},
		"sb://localhost/q", now.Add(1e12)),
		access.Sign(sender, "sb://localhost/q", now.Add(-1e12))} {
		if n := number(t, c.put(uint32(10+2*i), "sb://localhost/q", token), "status-code"); n != 401 {
			t.Errorf("%s: %d", token, n)
		}
		// The next request attaches links of the same names.
		for _, h := range []uint32{0, 1} {
			c.say(0, &frame.Detach{Handle: uint32(10+2*i) + h, Closed: true})
			await[*frame.Detach](c)
		}
	}
	refused("q", false)
	answer := c.put(0, "amqp://localhost/q", access.Sign(sender, "amqp://localhost/q", now.Add(1e12)))
	if n := number(t, answer, "status-code"); n != 202 {
		t.Fatal(n)
	}
	c.sender(2, "q")
	if f := await[*frame.Flow](c); f.LinkCredit.Or(0) == 0 {
		t.Error("no credit")
	}
	refused("q", true)
	if want := "Unauthorized access. 'Listen' claim(s) are required to perform this operation. " +
		"Resource: 'sb://"; !strings.
		HasPrefix(text, want) || !strings.Contains(text, "/q'. TrackingId:") {
		t.Errorf("the text is %s", text)
	}
}

// TestKeysOfEntities checks that a key of a queue gives the rights of its rule, on that queue only.
func TestKeysOfEntities(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "other")
	w.create(entity.Queue, "ns/PingMessage__", func(p *entity.Properties) {
		p.AuthorizationRules = []byte(`<AuthorizationRule>` +
			`<Rights><AccessRights>Send</AccessRights></Rights>` +
			`<KeyName>own</KeyName><PrimaryKey>k</PrimaryKey></AuthorizationRule>`)
	})
	w.bus = New(Options{Queues: w.q, Guard: access.New(access.TokenVerifierOptions{Mode: access.Strict,
		Keys: []access.Key{access.EmulatorKey()}, Entities: w.q})})
	c := w.dial(1 << 16)
	token := access.Sign(access.Key{Name: "own", Text: "k"}, "sb://localhost/ns/PingMessage__",
		ttl.SystemClock{}.Now().Add(1e12))
	if n := number(t, c.put(0, "sb://localhost/ns/PingMessage__", token), "status-code"); n != 202 {
		t.Fatal(n)
	}
	c.sender(2, "ns/PingMessage__")
	if f := await[*frame.Flow](c); f.LinkCredit.Or(0) == 0 {
		t.Error("no credit")
	}
	for _, address := range []string{"other", "ns/PingMessage__/$DeadLetterQueue"} {
		c.receiver(50, address)
		if d := await[*frame.Detach](c); d.Error == nil || d.Error.Condition != "amqp:unauthorized-access" {
			t.Errorf("%s: %+v", address, d)
		}
		c.say(0, &frame.Detach{Handle: 50, Closed: true})
	}
}

// TestRefusedRights checks that a refusal for missing rights has the text of Service Bus, and that a
// missing entity is reported before missing rights.
func TestRefusedRights(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	sender := access.Key{Name: "s", Rights: access.Send, Text: "one"}
	w.bus = New(Options{Queues: w.q,
		Guard: access.New(access.TokenVerifierOptions{Mode: access.Strict, Keys: []access.Key{sender}})})
	c := w.dial(1 << 16)
	now := ttl.SystemClock{}.Now()
	detached := func(handle uint32) *frame.Error {
		t.Helper()
		d := await[*frame.Detach](c)
		c.say(0, &frame.Detach{Handle: handle, Closed: true})
		if d.Error == nil {
			t.Fatal("no error")
		}
		return d.Error
	}
	c.receiver(20, "absent")
	if e := detached(20); e.Condition != "amqp:not-found" {
		t.Errorf("without a token, of an entity that is not there: %+v", e)
	}
	c.put(2, "sb://host/q", access.Sign(sender, "sb://host/q", now.Add(time.Hour)))
	for handle, address := range []string{"q", "q/$DeadLetterQueue"} {
		c.receiver(uint32(30+handle), address)
		want := "Unauthorized access. 'Listen' claim(s) are required to perform this operation. " +
			"Resource: 'sb://localhost/" + address + "'. TrackingId:"
		if e := detached(uint32(30 + handle)); !strings.HasPrefix(e.Description, want) {
			t.Errorf("%s: %s", address, e.Description)
		}
	}
	m := c.manage(40, "q")
	m.do(401, "peek-message", pairs("message-count", int32(1)))
}

// TestAudience checks that a token for an entity that does not exist is answered with status 404 and the
// text of Service Bus.
func TestAudience(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "some.q/x")
	w.create(entity.Topic, "t")
	w.create(entity.Subscription, "t/Subscriptions/s")
	token := access.Sign(access.EmulatorKey(), "sb://localhost", ttl.SystemClock{}.Now().Add(someTime))
	for audience, want := range map[string]int64{
		"sb://localhost:5672/": 202, "sb://localhost": 202, "": 202, "some": 202,
		"amqp://localhost/$cbs":      202,
		"amqps://localhost/some.q/x": 202, "sb://localhost/SOME.q/x/": 202,
		"http://h/some.q%2Fx/$management":          202,
		"sb://localhost/some.q/x/$DeadLetterQueue": 202, "sb://h/t": 202, "sb://h/t/subscriptions/S": 202,
		"sb://h/t/Subscriptions/s/$Transfer/$DeadLetterQueue/$management": 202,
		"sb://localhost/some.q": 404, "sb://localhost:5672/q/$management": 404,
		"sb://h/t/Subscriptions/other":  404,
		"sb://h/other/$DeadLetterQueue": 404, "sb://h/t/$DeadLetterQueue": 404, "sb://h/t/Subscriptions": 404,
	} {
		answer := w.dial(1<<16).put(0, audience, token)
		if got := number(t, answer, "status-code"); got != want {
			t.Errorf("%s: %d, not %d", audience, got, want)
		}
		text, _ := wire.Text(answer.Get("status-description"))
		if path := strings.Trim(pathOf(audience), "/"); want == 404 && !strings.HasPrefix(text,
			"The messaging entity 'sb://localhost/"+path+"' could not be found. To know more visit "+
				"https://aka.ms/sbResourceMgrExceptions. TrackingId:") {
			t.Errorf("%s: %s", audience, text)
		}
	}
}

// TestAttachErrors checks that a link that cannot be attached is detached with the error of Service Bus.
func TestAttachErrors(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	w.create(entity.Queue, "off", func(p *entity.Properties) { p.Status = entity.Disabled })
	w.create(entity.Topic, "t")
	w.create(entity.Subscription, "t/Subscriptions/s")
	w.create(entity.Queue, "talks", withSessions)
	c := w.dial(1 << 16)
	for i, r := range []struct {
		address   string
		receiver  bool
		condition wire.Symbol
		text      string
	}{
		{"absent", true, "amqp:not-found", "The messaging entity 'absent' could not be found."},
		{"absent", false, "amqp:not-found", "could not be found"},
		{"t/Subscriptions/absent", true, "amqp:not-found", "could not be found"},
		{"off", true, "com.microsoft:entity-disabled", ""},
		{"t", true, "amqp:not-allowed", "subscriptions"},
		{"t/Subscriptions/s", false, "amqp:not-allowed", ""},
		{"q/$DeadLetterQueue", false, "amqp:not-allowed", ""},
		{"talks", true, "amqp:not-allowed", ""},
		{"", false, "amqp:not-implemented", "anonymous"},
	} {
		h := uint32(i)
		var a *frame.Attach
		if r.receiver {
			a = c.receiver(h, r.address)
		} else {
			a = c.sender(h, r.address)
		}
		if target, _ := a.Target.(*frame.Target); r.receiver && a.Source != nil || !r.receiver &&
			target != nil {
			t.Errorf("%s: a link that is refused has %+v", r.address, a)
		}
		d := await[*frame.Detach](c)
		if d.Handle != a.Handle || !d.Closed || d.Error == nil || d.Error.Condition != r.condition ||
			!strings.Contains(d.Error.Description, r.text) ||
			!strings.Contains(d.Error.Description, "TrackingId:") {
			t.Errorf("%s: %+v %v", r.address, d, d.Error)
		}
		c.say(0, &frame.Detach{Handle: h, Closed: true})
	}
	// In any spelling, what is there is found.
	for i, address := range []string{"Q", "/q/", "sb://localhost:5672/q", "T/subscriptions/S",
		"q/$deadletterqueue",
		"amqps://x.example/t/Subscriptions/s/$DeadLetterQueue", "q/$Transfer/$DeadLetterQueue"} {
		if a := c.receiver(uint32(20+i), address); a.Source == nil || a.Source.Address != address {
			t.Errorf("%s: %+v", address, a.Source)
		}
	}
}

// TestStrayFrames checks that superfluous frames of some clients, such as a second detach, are ignored,
// and that malformed frames end only the connection.
func TestStrayFrames(t *testing.T) {
	w := newServiceBusUnderTest(t)
	w.create(entity.Queue, "q")
	c := w.dial(1 << 16)
	c.receiver(0, "q")
	c.say(0, &frame.Detach{Handle: 0, Closed: true})
	await[*frame.Detach](c)
	c.say(0, &frame.Detach{Handle: 0, Closed: true}) // again
	c.say(0, &frame.Disposition{Receiver: true, First: 500, Last: frame.Some(1 << 31), Settled: true,
		State: &frame.Accepted{}})
	c.begin(5, 100)
	c.say(5, &frame.End{})
	await[*frame.End](c)
	c.receiver(1, "q")
	c.credit(1, 0, 1, false)
	w.send("q", "a")
	if _, m := c.delivered(); textOf(m) != "a" {
		t.Errorf("got %q", textOf(m))
	}
	for _, b := range []string{
		"\x00\x00\x00\x07\x02\x00\x00\x00",                 // shorter than its head
		"\xff\xff\xff\xff\x02\x00\x00\x00",                 // too large
		"\x00\x00\x00\x0c\x02\x00\x00\x00\x00\x53\x10\xc0", // cut off
		"\x00\x00\x00\x0c\x02\x00\x00\x00\x40\x40\x40\x40", // no performative
		string(frame.Append(nil, 0, &frame.Open{ContainerID: "again"}, nil)),
		string(frame.Append(nil, 77, &frame.Flow{}, nil)),
		string(frame.Append(nil, 0, &frame.Begin{}, nil)), // the channel is in use
	} {
		c := w.dial(1 << 16)
		go func() { _, _ = c.conn.Write([]byte(b)) }()
		if cl := await[*frame.Close](c); cl.Error == nil || !strings.HasPrefix(string(cl.Error.Condition),
			"amqp:") {
			t.Errorf("%x: %+v", b, cl)
		}
		c.hangUp()
	}
}

// FuzzConnection sends fuzzed bytes on a connection, and checks that the server does not report a bug and
// releases everything at the end of the connection.
func FuzzConnection(f *testing.F) {
	seed := func(bodies ...frame.Body) {
		var b []byte
		for _, body := range bodies {
			b = frame.Append(b, 0, body, nil)
		}
		f.Add(b)
	}
	open, begin := &frame.Open{ContainerID: "f"}, &frame.Begin{IncomingWindow: 10, OutgoingWindow: 10,
		HandleMax: 9}
	attach := func(handle uint32, address string, receiver bool) *frame.Attach {
		return &frame.Attach{Name: address, Handle: handle, Receiver: receiver, Source: source(address),
			Target:               target(address),
			InitialDeliveryCount: frame.Some(0)}
	}
	seed(open, begin, attach(0, "q", true), &frame.Flow{Handle: frame.Some(0), LinkCredit: frame.Some(5),
		Drain: true, IncomingWindow: 5},
		&frame.Disposition{Receiver: true, Settled: true,
			State: &frame.Modified{DeliveryFailed: true}}, &frame.Detach{}, &frame.End{}, &frame.Close{})
	seed(open, begin, attach(0, "q", false),
		&frame.Transfer{DeliveryID: frame.Some(0), DeliveryTag: []byte("a"), More: true},
		&frame.Transfer{Aborted: true}, &frame.Transfer{DeliveryID: frame.Some(1),
			State: &frame.Transactional{TxnID: []byte{1}}})
	seed(open, begin, attach(0, "q/$management", false), attach(1, "q/$management", true),
		attach(2, "$cbs", false))
	seed(open, begin, &frame.Attach{Name: "tx", Target: &frame.Coordinator{},
		InitialDeliveryCount: frame.Some(0)},
		&frame.Transfer{DeliveryID: frame.Some(0)})
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newServiceBusUnderTest(t)
		w.create(entity.Queue, "q")
		w.create(entity.Queue, "talks", withSessions)
		w.send("q", "a", "b", "c")
		c := w.pipe()
		header := frame.HeaderAMQP()
		c.write(header[:])
		c.read(header[:])
		c.listen()
		go func() {
			for range c.in {
				continue
			}
		}()
		_, _ = c.conn.Write(b)
		c.hangUp()
	})
}

// TestTokenNodeHasOneLink checks that a connection can have only one link to $cbs in each direction. When
// that link has been detached another one is accepted, even before the client has received the answer to
// the detach.
func TestTokenNodeHasOneLink(t *testing.T) {
	c := newServiceBusUnderTest(t).dial(1 << 16)
	c.sender(0, "$cbs")
	c.receiver(1, "$cbs")
	c.sender(2, "$cbs")
	d := await[*frame.Detach](c)
	if d.Error == nil || d.Error.Condition != frame.CondNotAllowed ||
		!strings.Contains(d.Error.Description, "$cbs node has already been opened.") {
		t.Fatalf("a second link is answered with %+v", d.Error)
	}
	c.say(0, &frame.Detach{Handle: 0, Closed: true})
	c.sender(5, "$cbs")
	c.say(0, &frame.Flow{IncomingWindow: 100, OutgoingWindow: 100, Handle: frame.Some(5), Echo: true})
	if f := await[*frame.Flow](c); f.Handle != frame.Some(5) {
		t.Fatalf("the next link is answered with %+v", f)
	}
}
