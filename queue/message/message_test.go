package message

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/queue/wire"
)

var unexported = cmp.AllowUnexported(Message{})

// section encodes a section of a message with its descriptor and content.
func section(t testing.TB, descriptor uint64, v any) []byte {
	t.Helper()
	b, err := wire.Append(nil, wire.Described{Descriptor: descriptor, Value: v})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func parsed(t testing.TB, parts ...[]byte) *Message {
	t.Helper()
	m, err := Parse(join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// full returns an encoded message in which every section is present and every field has a value.
func full(t testing.TB) []byte {
	return join(
		section(t, sectionHeader, wire.List{true, uint8(7), uint32(10_000), true}),
		section(t, sectionDelivery, wire.Map{{Key: wire.Symbol("x"), Value: int64(1)},
			{Key: wire.Symbol("x-opt-lock-token"), Value: UUID{9}},
			{Key: wire.Symbol("nothing"), Value: nil}}),
		section(t, sectionAnnotations,
			wire.Map{{Key: wire.Symbol("x-opt-partition-key"), Value: wire.Symbol("p")},
				{Key: wire.Symbol("x-opt-sequence-number"), Value: int64(99)},
				{Key: wire.Symbol("x-opt-scheduled-enqueue-time"), Value: wire.Timestamp(5000)},
				{Key: wire.Symbol("mine"), Value: uint64(3)}, {Key: wire.Symbol("nothing"), Value: nil}}),
		section(t, sectionProperties, wire.List{"id", []byte("user"), "to", "subject", "reply", uint64(7),
			wire.Symbol("text/plain"), wire.Symbol("gzip"), wire.Timestamp(99), wire.Timestamp(
				9), "session", uint32(3), "rs"}),
		section(t, sectionApplication, wire.Map{{Key: "a", Value: int32(1)}, {Key: "B", Value: "two"},
			{Key: "d", Value: wire.Described{Descriptor: wire.Symbol("com.microsoft:timespan"),
				Value: int64(5)}}}),
		section(t, sectionData, []byte("hello ")), section(t, sectionData, []byte("world")),
		section(t, sectionFooter, wire.Map{{Key: wire.Symbol("f"), Value: true}}))
}

func TestPropertyAccessors(t *testing.T) {
	m := parsed(t, full(t))
	for s, want := range map[PropertiesSectionField]string{MessageID: "id", To: "to", Subject: "subject",
		ReplyTo:       "reply",
		CorrelationID: "7", ContentType: "text/plain", ContentEncoding: "gzip", GroupID: "session",
		ReplyToGroupID: "rs"} {
		if got := m.Text(s); got != want {
			t.Errorf("slot %d is %q, want %q", s, got, want)
		}
	}
	key, _ := m.Key()
	session, _ := m.SessionID()
	data, ok := m.Data()
	if key != "sid" || session != "session" || !ok || string(data) != "hello world" ||
		m.PartitionKey() != "p" ||
		m.Scheduled() != 5000 || m.OwnTTL() != 10_000 || m.Header.Priority != 7 || !m.Header.Durable {
		t.Errorf("key %q, session %q, data %q, partition %q, scheduled %d, ttl %d, header %+v", key, session,
			data,
			m.PartitionKey(), m.Scheduled(), m.OwnTTL(), m.Header)
	}
	if len(m.Annotations) != 3 {
		t.Errorf("the sender's annotations are %v", m.Annotations)
	}
	if v, _, _ := wire.Value(m.GetFold("b")); v != "two" || m.Get("b") != nil {
		t.Errorf("the property b is %v", v)
	}
}

// TestStoredRoundTrip checks that ParseStored(AppendStored(m)) equals m for several messages, and that a
// stored message that is cut off fails.
func TestStoredRoundTrip(t *testing.T) {
	for name, m := range map[string]*Message{"full": parsed(t, full(t)), "empty": parsed(t),
		"new": New([]byte("x"))} {
		got, err := ParseStored(m.AppendStored(nil))
		if err != nil || !cmp.Equal(got, m, unexported) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(m, got, unexported))
		}
	}
	whole := parsed(t, full(t)).AppendStored(nil)
	for n := range len(whole) - len("hello world") - 20 {
		if _, err := ParseStored(whole[:n]); err == nil && n < 60 {
			t.Errorf("%d of %d bytes are taken for all", n, len(whole))
		}
	}
}

// TestWire checks the sections that AppendWire writes for a receiver: the sender's values unchanged, and
// the broker's annotations with the AMQP types that clients require.
func TestWire(t *testing.T) {
	m := parsed(t, full(t))
	token := UUID{1}
	raw := m.AppendWire(nil,
		&BrokerProperties{SequenceNumber: 5, EnqueuedSequenceNumber: 3, EnqueuedTime: 1000,
			LockedUntil: 2000,
			ExpiresAt:   11_000, TTL: 10_000, State: Deferred, DeliveryCount: 2, DeadLetterSource: "orders",
			LockToken: &token})
	sections := make(map[uint64]any)
	var order []uint64
	for left := raw; len(left) > 0; {
		code, _, value, rest, err := wire.SplitDescribed(left)
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := wire.Value(value)
		if err != nil {
			t.Fatal(err)
		}
		sections[code], left, order = v, rest, append(order, code)
	}
	if want := []uint64{0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x75, 0x78}; !cmp.Equal(order, want) {
		t.Errorf("the sections are %x", order)
	}
	annotations := wire.Map{}
	for _, p := range []wire.MapEntry{{Key: "x-opt-sequence-number", Value: int64(5)},
		{Key: "x-opt-enqueued-time", Value: wire.Timestamp(1000)}, {Key: "x-opt-locked-until",
			Value: wire.Timestamp(2000)},
		{Key: "x-opt-enqueue-sequence-number", Value: int64(3)}, {Key: "x-opt-message-state",
			Value: int32(1)},
		{Key: "x-opt-deadletter-source", Value: "orders"}, {Key: "x-opt-partition-key", Value: "p"},
		{Key: "x-opt-scheduled-enqueue-time", Value: wire.Timestamp(5000)}, {Key: "mine", Value: uint64(3)}} {
		annotations = append(annotations, wire.MapEntry{Key: wire.Symbol(p.Key.(string)), Value: p.Value})
	}
	for code, want := range map[uint64]any{
		sectionHeader: wire.List{true, uint8(7), uint32(10_000), true, uint32(2)},
		sectionDelivery: wire.Map{{Key: wire.Symbol("x"), Value: int64(1)},
			{Key: wire.Symbol("x-opt-lock-token"), Value: token}},
		sectionAnnotations: annotations,
		sectionProperties: wire.List{"id", []byte("user"), "to", "subject", "reply", uint64(7),
			wire.Symbol("text/plain"),
			wire.Symbol("gzip"), wire.Timestamp(11_000), wire.Timestamp(1000), "session", uint32(3), "rs"},
	} {
		if diff := cmp.Diff(want, sections[code]); diff != "" {
			t.Errorf("section %x: %s", code, diff)
		}
	}
	again := parsed(t, raw)
	if !bytes.Equal(again.Body, m.Body) || !bytes.Equal(again.Footer, m.Footer) ||
		!cmp.Equal(again.Application, m.Application) {
		t.Error("the body, the footer or the application properties have changed")
	}
	bare := parsed(t, m.AppendWire(nil,
		&BrokerProperties{LockedUntil: Absent, ExpiresAt: Absent, TTL: Absent}))
	if bare.OwnTTL() != Absent || bare.Raw(AbsoluteExpiry) != nil {
		t.Error("a time to live that is not to be told is told")
	}
}

func TestOwnTTL(t *testing.T) {
	pair := func(created, expires int64) []byte {
		list := make(wire.List, 10)
		list[AbsoluteExpiry], list[Creation] = wire.Timestamp(expires), wire.Timestamp(created)
		return section(t, sectionProperties, list)
	}
	header := func(ttl uint32) []byte { return section(t, sectionHeader, wire.List{nil, nil, ttl}) }
	const month = 60 * 24 * 3600_000
	for name, c := range map[string]struct {
		message []byte
		want    int64
	}{
		"nothing":                 {nil, Absent},
		"header":                  {header(5), 5},
		"zero, which is none":     {header(0), Absent},
		"header before the pair":  {join(header(5), pair(0, 7)), 5},
		"pair":                    {pair(1000, 1000+month), month},
		"pair and a full header":  {join(header(1<<32-1), pair(1000, 1000+month)), month},
		"full header alone":       {header(1<<32 - 1), 1<<32 - 1},
		"expired before its time": {pair(1000, 999), 0},
		"ends of time":            {pair(-1<<63, 1<<63-1), Absent},
		"ends of time, reversed":  {pair(1<<63-1, -1<<63), 0},
	} {
		if got := parsed(t, c.message).OwnTTL(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	m := New(nil)
	for _, ttl := range []int64{Absent, 0, 1, 1<<32 - 2, 1<<32 - 1, month, 1 << 60} {
		m.SetOwnTTL(ttl, 1000)
		want := ttl
		if ttl == 1<<60 {
			want = LastMoment - 1000
		}
		if got := m.OwnTTL(); got != want {
			t.Errorf("%d was set, %d is told", ttl, got)
		}
	}
}

func TestBatch(t *testing.T) {
	one := join(section(t, sectionProperties, wire.List{"1"}), section(t, sectionData, []byte("a")))
	two := join(section(t, sectionProperties, wire.List{"2"}), section(t, sectionValue, "b"))
	envelope := join(section(t, sectionAnnotations,
		wire.Map{{Key: wire.Symbol("x-opt-partition-key"), Value: "p"}}),
		section(t, sectionData, one), section(t, sectionData, two))
	list, err := ParseBatch(envelope)
	if err != nil || len(list) != 2 || list[0].Text(MessageID) != "1" || list[1].Text(MessageID) != "2" {
		t.Fatalf("%v, %v", list, err)
	}
	if data, ok := list[1].Data(); !ok || string(data) != "b" {
		t.Errorf("the second body is %q", data)
	}
	for name, b := range map[string][]byte{"no messages": nil, "a value": section(t, sectionValue, one),
		"no message inside": section(t, sectionData, []byte("x"))} {
		var e *FormatError
		if _, err := ParseBatch(b); !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMalformedMessages(t *testing.T) {
	data := section(t, sectionData, []byte("x"))
	for name, b := range map[string][]byte{
		"no section":         {0x40},
		"an unknown one":     section(t, 0x79, nil),
		"by an unknown name": {0x00, 0xa3, 1, 'x', 0x40},
		"two headers": join(section(t, sectionHeader, wire.List{}),
			section(t, sectionHeader, wire.List{})),
		"two headers around a body": join(section(t, sectionHeader, wire.List{}), data,
			section(t, sectionHeader, wire.List{})),
		"data, a footer and a value": join(data, section(t, sectionFooter, wire.Map{}),
			section(t, sectionValue, "b")),
		"partition key that is not UTF-8": section(t, sectionAnnotations,
			wire.Map{{Key: wire.Symbol(annPartitionKey), Value: []byte{0xff}}}),
		"two values":             join(section(t, sectionValue, "a"), section(t, sectionValue, "b")),
		"data and a value":       join(data, section(t, sectionValue, "b")),
		"id of a wrong type":     section(t, sectionProperties, wire.List{1.5}),
		"moment of a wrong type": section(t, sectionProperties, wire.List{8: "soon"}),
		"property without name":  section(t, sectionApplication, wire.Map{{Key: uint8(1), Value: "x"}}),
		"scheduled for a word": section(t, sectionAnnotations,
			wire.Map{{Key: wire.Symbol(annScheduled), Value: "x"}}),
		"header of words": section(t, sectionHeader, wire.List{"x"}),
	} {
		var e *FormatError
		if m, err := Parse(b); !errors.As(err, &e) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

func TestSetters(t *testing.T) {
	m := parsed(t, full(t))
	before := m.AppendStored(nil)
	c := m.Clone()
	c.SetText(Subject, "other")
	c.SetText(ContentType, "a/b")
	c.SetText(To, "")
	c.SetString("a", "x")
	c.SetString("new", "y")
	c.Set("d", []byte{0x40})
	c.SetFold("b", wire.AppendInt64(nil, 1))
	c.SetPartitionKey("")
	c.SetViaPartitionKey("via")
	c.SetScheduled(Absent)
	c.SetBody([]byte("z"))
	if !bytes.Equal(m.AppendStored(nil), before) {
		t.Error("a change of the clone has changed the message")
	}
	again := parsed(t, c.AppendWire(nil,
		&BrokerProperties{LockedUntil: Absent, ExpiresAt: Absent, TTL: Absent}))
	var names []string
	for _, p := range again.Application {
		names = append(names, p.Name)
	}
	data, _ := again.Data()
	if again.Text(Subject) != "other" || again.Text(ContentType) != "a/b" || again.Raw(To) != nil ||
		!cmp.Equal(names, []string{"a", "B", "new"}) || again.PartitionKey() != "" ||
		again.ViaPartitionKey() != "via" || again.Scheduled() != Absent || string(data) != "z" {
		t.Errorf("%q %q %v %v %q", again.Text(Subject), again.Text(ContentType), names, again.Annotations,
			data)
	}
}

// FuzzParse checks that no input makes the parsers panic, and that a parsed message is unchanged after it
// was stored or sent.
func FuzzParse(f *testing.F) {
	f.Add(full(f))
	f.Add(section(f, sectionData, join(section(f, sectionData, []byte("x")))))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ParseStored(b)
		_, _ = ParseBatch(b)
		m, err := Parse(b)
		if err != nil {
			return
		}
		kept, err := ParseStored(m.AppendStored(nil))
		if err != nil || !cmp.Equal(kept, m, unexported) {
			t.Fatalf("stored: %v\n%s", err, cmp.Diff(m, kept, unexported))
		}
		sent, err := Parse(m.AppendWire(nil,
			&BrokerProperties{LockedUntil: Absent, ExpiresAt: Absent, TTL: Absent}))
		if err != nil || !bytes.Equal(sent.Body, m.Body) || !cmp.Equal(sent.Application, m.Application) ||
			sent.Text(MessageID) != m.Text(MessageID) {
			t.Fatalf("sent: %v", err)
		}
		_, _ = m.Data()
		_, _ = m.Key()
		_, _, _ = m.OwnTTL(), m.Scheduled(), m.Size()
	})
}
