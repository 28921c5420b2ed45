package message

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/queue/wire"
)

// untold holds the broker properties of a message that is not locked and does not expire.
var untold = &BrokerProperties{LockedUntil: Absent, ExpiresAt: Absent, TTL: Absent}

// TestGolden compares the encoding of a message for a receiver, byte for byte, with an expected one.
func TestGolden(t *testing.T) {
	m := New([]byte("hi"))
	m.SetText(MessageID, "1")
	m.SetText(ContentType, "t")
	m.Set("n", wire.AppendInt64(nil, 5))
	m.SetPartitionKey("p")
	got := hex.EncodeToString(m.AppendWire(nil,
		&BrokerProperties{SequenceNumber: 1, EnqueuedTime: 2, LockedUntil: 3,
			ExpiresAt: 4, TTL: 1 << 40, DeadLetterSource: "d", LockToken: &UUID{0xAB}}))
	name := func(n string) string { return fmt.Sprintf("a3%02x%x", len(n), n) }
	annotations := name("x-opt-sequence-number") + "5501" +
		name("x-opt-enqueued-time") + "830000000000000002" +
		name("x-opt-locked-until") + "830000000000000003" + name("x-opt-deadletter-source") + "a10164" +
		name("x-opt-partition-key") + "a10170"
	want := "005370" + "c00a05" + "40" + "40" + "70ffffffff" + "40" + "43" +
		"005371" + "c12402" + name("x-opt-lock-token") + "98ab" + strings.Repeat("00", 15) +
		"005372" + fmt.Sprintf("c1%02x0a", len(annotations)/2+1) + annotations +
		"005373" + "c0220d" + "a10131" + strings.Repeat("40", 5) + "a30174" + "40" + "830000000000000004" +
		"830000000000000002" + strings.Repeat("40", 3) +
		"005374" + "c10602" + "a1016e" + "5505" +
		"005375" + "a0026869"
	if got != want {
		t.Errorf("written\n%s, want\n%s", got, want)
	}
}

// TestPlainDescriptors checks that sections whose descriptors are names or 8-byte numbers are written with
// descriptors of one byte, which all clients can read.
func TestPlainDescriptors(t *testing.T) {
	want := join(section(t, sectionData, []byte("a")), section(t, sectionData, []byte("b")),
		section(t, sectionFooter, wire.Map{}))
	wide := func(code uint64, value any) []byte {
		raw, err := wire.Append(binary.BigEndian.AppendUint64([]byte{0, 0x80}, code), value)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	named := func(name wire.Symbol, value any) []byte {
		raw, err := wire.Append(nil, wire.Described{Descriptor: name, Value: value})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for name, b := range map[string][]byte{
		"wide": join(wide(sectionData, []byte("a")), section(t, sectionData, []byte("b")),
			wide(sectionFooter, wire.Map{})),
		"named": join(section(t, sectionData, []byte("a")), named("amqp:data:binary", []byte("b")),
			named("amqp:footer:map", wire.Map{})),
	} {
		m := parsed(t, b)
		if got := join(m.Body, m.Footer); !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x", name, got, want)
		}
		if data, ok := m.Data(); !ok || string(data) != "ab" {
			t.Errorf("%s: the body is %q", name, data)
		}
	}
}

// TestNestingLimit checks that Parse refuses a value that a receiver could not decode, in any section and at
// any depth.
func TestNestingLimit(t *testing.T) {
	lie := []byte{0xc0, 2, 1, 0x50}      // a list of a ubyte that is not there
	noText := []byte{0xa1, 1, 0xff}      // a string that is not UTF-8
	halves := []byte{0xc1, 3, 1, 81, 64} // half a pair
	within := func(code byte, before string, inner []byte) []byte {
		value := append([]byte(before), inner...)
		return append([]byte{0, 0x53, code}, append([]byte{0xc1, byte(len(value) + 1), 2}, value...)...)
	}
	for name, b := range map[string][]byte{
		"property":          within(sectionApplication, "\xa1\x01k", lie),
		"property's text":   within(sectionApplication, "\xa1\x01k", noText),
		"property's name":   within(sectionApplication, "\xa1\x01\xff", []byte{0x40}),
		"annotation":        within(sectionAnnotations, "\xa3\x01k", lie),
		"footer":            within(sectionFooter, "\xa3\x01k", halves),
		"footer's key":      within(sectionFooter, "\xa0\x01k", []byte{0x40}),
		"footer of a list":  {0, 0x53, sectionFooter, 0xc0, 1, 0},
		"value":             append([]byte{0, 0x53, sectionValue}, lie...),
		"value in a type":   append([]byte{0, 0x53, sectionValue, 0, 0x53, 1}, noText...),
		"sequence":          append([]byte{0, 0x53, sectionSequence}, lie...),
		"sequence of bytes": {0, 0x53, sectionSequence, 0xa0, 0},
		"data of text":      {0, 0x53, sectionData, 0xa1, 0},
		"data of nothing":   {0, 0x53, sectionData, 0x40},
		"id":                append([]byte{0, 0x53, sectionProperties, 0xc0, 4, 1}, noText...),
	} {
		var e *FormatError
		if m, err := Parse(b); !errors.As(err, &e) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// TestDuplicatePropertyNames checks that of several properties with one name only the first is kept, in small
// and in large maps.
func TestDuplicatePropertyNames(t *testing.T) {
	var sent wire.Map
	var want []ApplicationProperty
	for i := range 3 * manyProperties {
		name := fmt.Sprint("p", i)
		sent = append(sent, wire.MapEntry{Key: name, Value: int32(i)},
			wire.MapEntry{Key: "p0", Value: "again"},
			wire.MapEntry{Key: fmt.Sprint("p", i/2), Value: "again"})
		want = append(want, ApplicationProperty{name, wire.AppendInt32(nil, int32(i))})
	}
	if got := parsed(t, section(t, sectionApplication, sent)).Application; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestNullClearsField(t *testing.T) {
	m := New(nil)
	for _, null := range [][]byte{nil, {}, {0x40}} {
		m.SetRaw(MessageID, null)
		m.SetAnnotation("a", null)
		if key, ok := m.Key(); ok || m.Raw(MessageID) != nil || len(m.Annotations) > 0 {
			t.Errorf("%x: there is an id %q, and annotations %v", null, key, m.Annotations)
		}
		parsed(t, m.AppendWire(nil, untold))
	}
}

// TestAppendDoesNotOverwrite checks that appending to slices of a parsed message does not overwrite the bytes
// from which it was parsed.
func TestAppendDoesNotOverwrite(t *testing.T) {
	raw := full(t)
	before := bytes.Clone(raw)
	m := parsed(t, raw)
	_, _, _ = append(m.Body, 1), append(m.Raw(MessageID), 2), append(m.Get("a"), 3)
	if !bytes.Equal(raw, before) {
		t.Error("the bytes that were read have changed")
	}
}

// anyScalar returns a random value of a type that application properties can have.
func anyScalar(r *rand.Rand) any {
	n := r.Uint64() >> r.IntN(64)
	return []any{nil, n%2 == 0, uint8(n), uint16(n), uint32(n), n, int8(n), int16(n), int32(n), int64(n),
		float32(n), float64(n), wire.Char('x'), wire.Timestamp(n), UUID{byte(n)}, []byte{byte(n)},
		strings.Repeat("ä", int(n%200)), wire.Symbol("s"), wire.Decimal128{byte(n)},
		wire.Described{Descriptor: wire.Symbol("com.microsoft:timespan"), Value: int64(n)}}[r.IntN(20)]
}

// TestRandomMessages checks with random messages that a receiver gets what the sender wrote, after the
// message has been stored and sent.
func TestRandomMessages(t *testing.T) {
	seed := metamorphic.FirstSeed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range racetest.Campaign(500, 150) {
		properties := make(wire.List, r.IntN(int(slotCount)+2))
		for i := range properties {
			switch PropertiesSectionField(i) {
			case MessageID, CorrelationID:
				properties[i] = []any{"id", r.Uint64(), UUID{1}, []byte{2}, nil}[r.IntN(5)]
			case UserID:
				properties[i] = []byte("u")
			case AbsoluteExpiry, Creation:
				properties[i] = []any{wire.Timestamp(r.Int64N(1 << 40)), nil}[r.IntN(2)]
			case GroupSequence:
				properties[i] = r.Uint32()
			case slotCount:
				properties[i] = anyScalar(r)
			default:
				properties[i] = []any{"text", wire.Symbol("symbol"), nil}[r.IntN(3)]
			}
		}
		var application, annotations, footer wire.Map
		for i := range r.IntN(2 * manyProperties) {
			application = append(application, wire.MapEntry{Key: fmt.Sprint("a", i), Value: anyScalar(r)})
			annotations = append(
				annotations,
				wire.MapEntry{Key: wire.Symbol(fmt.Sprint("x-opt-", i)), Value: anyScalar(r)},
			)
			footer = append(footer, wire.MapEntry{Key: wire.Symbol(fmt.Sprint("f", i)), Value: anyScalar(r)})
		}
		sent := []any{
			wire.List{true, uint8(r.IntN(10)), r.Uint32(), r.IntN(2) == 0},
			annotations,
			annotations,
			properties,
			application,
			[]byte("data"),
			wire.List{anyScalar(r)},
			anyScalar(r),
			footer,
		}
		body := sectionData + r.IntN(3)
		var sections [][]byte
		var tail []byte
		for i, v := range sent {
			code := sectionHeader + i
			if v == nil && code != sectionValue ||
				code >= sectionData && code <= sectionValue && code != body {
				continue
			}
			if one := section(t, uint64(code), v); code == body || r.IntN(4) > 0 {
				if sections = append(sections, one); code >= sectionData {
					tail = append(tail, one...)
				}
			}
		}
		r.Shuffle(len(sections), func(i, j int) { sections[i], sections[j] = sections[j], sections[i] })
		first := parsed(t, sections...)
		kept, err := ParseStored(first.AppendStored(nil))
		if err != nil || !cmp.Equal(kept, first, unexported) {
			t.Fatalf("stored: %v\n%s", err, cmp.Diff(first, kept, unexported))
		}
		second := parsed(t, kept.AppendWire(nil, untold))
		second.Header = first.Header // which is the broker's
		second.slots[AbsoluteExpiry] = first.slots[AbsoluteExpiry]
		if !cmp.Equal(second, first, unexported) || !bytes.Equal(join(second.Body, second.Footer), tail) {
			t.Fatalf("sent: %s", cmp.Diff(first, second, unexported))
		}
	}
}
