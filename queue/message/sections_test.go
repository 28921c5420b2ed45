package message

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/queue/wire"
)

// eachSection calls fn with the sections of an encoded message.
func eachSection(t *testing.T, raw []byte, fn func(code uint64, value any)) {
	t.Helper()
	for left := raw; len(left) > 0; {
		code, _, value, rest, err := wire.SplitDescribed(left)
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := wire.Value(value)
		if err != nil {
			t.Fatal(err)
		}
		fn(code, v)
		left = rest
	}
}

// TestSectionOrder checks that Parse accepts the sections of a message in any order: JavaScript clients
// write a footer before the body, and a Python client writes delivery annotations last.
func TestSectionOrder(t *testing.T) {
	data := [][]byte{section(t, sectionData, []byte("a")), section(t, sectionData, []byte("b"))}
	m := parsed(t,
		section(t, sectionFooter, wire.Map{{Key: wire.Symbol("f"), Value: "x"}}), data[0],
		section(t, sectionProperties, wire.List{"id"}), data[1],
		section(t, sectionApplication, wire.Map{{Key: "a", Value: "x"}}),
		section(t, sectionHeader, wire.List{true}),
		section(t, sectionDelivery, wire.Map{{Key: wire.Symbol("d"), Value: "x"}}))
	if body, _ := m.Data(); m.Text(MessageID) != "id" || string(body) != "ab" || m.Footer == nil ||
		m.Get("a") == nil || !m.Header.Durable || len(m.Delivery) != 1 {
		t.Errorf("read as %+v, body %q", m, body)
	}
	if want := join(data...); !bytes.Equal(m.Body, want) {
		t.Errorf("the body is %x, not %x", m.Body, want)
	}
}

// TestKeysAreSymbols checks that string keys of annotations and footers are sent to receivers as symbols,
// because a Java client cannot read string keys there, although it writes them.
func TestKeysAreSymbols(t *testing.T) {
	sent := wire.Map{{Key: "k", Value: "v"}, {Key: wire.Symbol("s"), Value: int32(1)},
		{Key: uint64(5), Value: true}}
	raw := parsed(t, section(t, sectionDelivery, sent), section(t, sectionAnnotations, sent),
		section(t, sectionFooter, sent)).AppendWire(nil, untold)
	found := 0
	eachSection(t, raw, func(code uint64, value any) {
		if code != sectionDelivery && code != sectionAnnotations && code != sectionFooter {
			return
		}
		found++
		for _, p := range value.(wire.Map) {
			if _, isText := p.Key.(string); isText {
				t.Errorf("section %x has the key %#v", code, p.Key)
			}
		}
		if v, ok := value.(wire.Map).Get("k"); !ok || v != "v" {
			t.Errorf("section %x is %v", code, value)
		}
	})
	if found != 3 {
		t.Errorf("%d of three sections", found)
	}
}

// TestBinaryAnnotations checks that partition keys sent as binaries are read as strings, because a Python
// client forwards them in this form. Other binary annotations are unchanged.
func TestBinaryAnnotations(t *testing.T) {
	m := parsed(t, section(t, sectionAnnotations, wire.Map{
		{Key: wire.Symbol(annPartitionKey), Value: []byte("p\u00e4")},
		{Key: wire.Symbol(annViaPartitionKey), Value: []byte("via")},
		{Key: wire.Symbol("mine"), Value: []byte("bytes")}}))
	if m.PartitionKey() != "p\u00e4" || m.ViaPartitionKey() != "via" {
		t.Errorf("partition keys %q and %q", m.PartitionKey(), m.ViaPartitionKey())
	}
	if _, ok := wire.Bytes(m.Annotation("mine")); !ok {
		t.Errorf("another annotation is %x", m.Annotation("mine"))
	}
}

// TestReceivedAnnotations checks which broker annotations a receiver gets. The enqueued sequence number
// and the state are omitted for an ordinary message, and sent for forwarded, scheduled and peeked ones.
func TestReceivedAnnotations(t *testing.T) {
	for name, c := range map[string]struct {
		b    BrokerProperties
		more []wire.Symbol
	}{
		"plain":       {BrokerProperties{}, nil},
		"forwarded":   {BrokerProperties{EnqueuedSequenceNumber: 3}, []wire.Symbol{annEnqueuedSequence}},
		"partitioned": {BrokerProperties{ShowZeroOrigin: true}, []wire.Symbol{annEnqueuedSequence}},
		"scheduled":   {BrokerProperties{State: Scheduled}, []wire.Symbol{annState}},
		"peeked": {BrokerProperties{ShowZeroOrigin: true, ShowActive: true},
			[]wire.Symbol{annEnqueuedSequence, annState}},
	} {
		c.b.LockedUntil, c.b.ExpiresAt, c.b.TTL = Absent, Absent, Absent
		var got []wire.Symbol
		eachSection(t, New(nil).AppendWire(nil, &c.b), func(code uint64, value any) {
			if code == sectionAnnotations {
				for _, p := range value.(wire.Map) {
					got = append(got, p.Key.(wire.Symbol))
				}
			}
		})
		if want := append([]wire.Symbol{annSequence, annEnqueued}, c.more...); !cmp.Equal(got, want) {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
}

// TestOmittedBody checks that OmitBody leaves out the body and no other section.
func TestOmittedBody(t *testing.T) {
	b := *untold
	b.OmitBody = true
	m := parsed(t, parsed(t, full(t)).AppendWire(nil, &b))
	if m.Body != nil || m.Footer == nil || m.Text(MessageID) != "id" {
		t.Errorf("body %x, footer %x, id %q", m.Body, m.Footer, m.Text(MessageID))
	}
}

// TestParseOlderStoredVersion checks that ParseStored reads version 1 of the stored format, which has no
// delivery annotations, and refuses later versions than storedVersion.
func TestParseOlderStoredVersion(t *testing.T) {
	m := parsed(t, full(t))
	m.Delivery, m.Header.FirstAcquirer = nil, false
	old := m.AppendStored(nil)
	old[0] = 1
	if got, err := ParseStored(old); err != nil || !cmp.Equal(got, m, unexported) {
		t.Errorf("%v\n%s", err, cmp.Diff(m, got, unexported))
	}
	old[0] = storedVersion + 1
	if _, err := ParseStored(old); err == nil {
		t.Error("a later version is read")
	}
}

// TestHeaderFields checks that header fields that the sender omitted are sent to receivers as null, and
// the others as they were sent, also after the message was stored.
func TestHeaderFields(t *testing.T) {
	for _, sent := range []wire.List{nil, {}, {nil, nil}, {false}, {true, uint8(4)}, {nil, uint8(0)},
		{false, uint8(9), uint32(5), false}, {nil, nil, nil, true}} {
		m := New(nil)
		if sent != nil {
			m = parsed(t, section(t, sectionHeader, sent))
		}
		stored, err := ParseStored(m.AppendStored(nil))
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Concat(sent, wire.List{nil, nil, nil, nil})[:4]
		want[2] = nil // of a broker that tells none
		b := *untold
		b.TTL = Absent
		eachSection(t, stored.AppendWire(nil, &b), func(code uint64, value any) {
			if code != sectionHeader {
				return
			}
			got, _ := value.(wire.List)
			if !cmp.Equal(got[:4], want) {
				t.Errorf("%v sent: %v, not %v", sent, got[:4], want)
			}
		})
	}
}

// TestNoDeliveryAnnotations checks that for a message without delivery annotations a receiver gets an
// empty map, and a peek gets no such section.
func TestNoDeliveryAnnotations(t *testing.T) {
	for _, peeked := range []bool{false, true} {
		b := *untold
		b.ShowActive = peeked
		count := 0
		eachSection(t, New(nil).AppendWire(nil, &b), func(code uint64, value any) {
			if m, ok := value.(wire.Map); code == sectionDelivery && ok && len(m) == 0 {
				count++
			}
		})
		if (count == 1) == peeked {
			t.Errorf("peeked %v: %d sections", peeked, count)
		}
	}
}
