package sdktest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/go-amqp"

	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// untold holds the broker's properties of a message that is not locked and does not expire.
var untold = &message.BrokerProperties{LockedUntil: message.Absent, ExpiresAt: message.Absent,
	TTL: message.Absent}

// amqpScalar returns a random value of a random type that both the SDK's AMQP library and this project
// support in properties.
func amqpScalar(r *rand.Rand) any {
	n := r.Uint64() >> r.IntN(64)
	return []any{n%2 == 0, uint8(n), uint16(n), uint32(n), n, int8(n), int16(n), int32(n), int64(n),
		float32(n),
		float64(n), strings.Repeat("ä", int(n%300)), bytes.Repeat([]byte{byte(n)}, int(n%300)),
		time.UnixMilli(r.Int64N(1 << 45)).UTC(), amqp.UUID{byte(n), 15: 1}}[r.IntN(15)]
}

func amqpProperties(r *rand.Rand) *amqp.MessageProperties {
	text := func() *string {
		if r.IntN(2) == 0 {
			return nil
		}
		s := strings.Repeat("é", r.IntN(200))
		return &s
	}
	id := func() any { return []any{nil, "id", r.Uint64() >> r.IntN(64), amqp.UUID{3}, []byte{4}}[r.IntN(5)] }
	p := &amqp.MessageProperties{
		MessageID:       id(),
		To:              text(),
		Subject:         text(),
		ReplyTo:         text(),
		CorrelationID:   id(),
		ContentType:     text(),
		ContentEncoding: text(),
		GroupID:         text(),
		ReplyToGroupID:  text(),
	}
	if r.IntN(2) == 0 {
		created, group := time.UnixMilli(r.Int64N(1<<45)).UTC(), r.Uint32()
		p.UserID, p.CreationTime, p.GroupSequence = []byte("user"), &created, &group
	}
	return p
}

// amqpMessage returns a random message of the SDK's AMQP library.
func amqpMessage(r *rand.Rand) *amqp.Message {
	m := &amqp.Message{Properties: amqpProperties(r),
		Header: &amqp.MessageHeader{Durable: r.IntN(2) == 0, FirstAcquirer: r.IntN(2) == 0,
			Priority: uint8(r.IntN(10)),
			TTL:      time.Duration(1+r.Int64N(1<<31)) * time.Millisecond}}
	if n := r.IntN(40); n > 0 {
		m.ApplicationProperties = map[string]any{}
		m.Annotations, m.Footer = amqp.Annotations{}, amqp.Annotations{}
		m.DeliveryAnnotations = amqp.Annotations{}
		for i := range n {
			m.ApplicationProperties[fmt.Sprint("p", i)] = amqpScalar(r)
			m.Annotations[fmt.Sprint("a", i)] = amqpScalar(r)
			m.Footer[fmt.Sprint("f", i)] = amqpScalar(r)
			m.DeliveryAnnotations[fmt.Sprint("d", i)] = amqpScalar(r)
		}
	}
	switch r.IntN(3) {
	case 0:
		for range 1 + r.IntN(3) {
			m.Data = append(m.Data, bytes.Repeat([]byte{1}, r.IntN(400)))
		}
	case 1:
		m.Value = []any{amqpScalar(r), map[string]any{"k": amqpScalar(r)}, []any{amqpScalar(r), "x"},
			[]int64{1, -1, 1 << 40}, []string{"a", "b"}, []amqp.UUID{{1}}}[r.IntN(6)]
	default:
		m.Sequence = [][]any{{amqpScalar(r)}, {amqpScalar(r), amqpScalar(r)}}
	}
	return m
}

// read decodes a message with the SDK's AMQP library.
func read(t *testing.T, raw []byte) *amqp.Message {
	t.Helper()
	m := &amqp.Message{}
	if err := m.UnmarshalBinary(raw); err != nil {
		t.Fatalf("they cannot read %x: %v", raw, err)
	}
	return m
}

// TestMessagesOfGo encodes random messages with the SDK's AMQP library, decodes, stores and encodes them
// with this project's code, and decodes them with the library again. They must be unchanged, and the
// broker's annotations must have the types that the SDK expects.
func TestMessagesOfGo(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		sent := amqpMessage(r)
		raw, err := sent.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		ours, err := message.Parse(raw)
		if err != nil {
			t.Fatalf("%x: %v", raw, err)
		}
		stored, err := message.ParseStored(ours.AppendStored(nil))
		if err != nil {
			t.Fatal(err)
		}
		got := read(
			t,
			stored.AppendWire(nil,
				&message.BrokerProperties{SequenceNumber: 1, EnqueuedTime: 2, LockedUntil: 3,
					ExpiresAt: message.Absent, TTL: ours.OwnTTL(), State: message.Deferred, DeliveryCount: 7,
					DeadLetterSource: "q", LockToken: &message.UUID{9}}),
		)
		want := read(t, raw)
		want.Header.DeliveryCount = 7
		if want.DeliveryAnnotations == nil {
			want.DeliveryAnnotations = amqp.Annotations{}
		}
		want.DeliveryAnnotations["x-opt-lock-token"] = amqp.UUID{9}
		if want.Annotations == nil {
			want.Annotations = amqp.Annotations{}
		}
		maps.Copy(want.Annotations, amqp.Annotations{"x-opt-sequence-number": int64(1),
			"x-opt-enqueued-time": time.UnixMilli(2), "x-opt-locked-until": time.UnixMilli(3),
			"x-opt-message-state": int32(1), "x-opt-deadletter-source": "q"})
		for what, pair := range map[string][2]any{"header": {got.Header, want.Header},
			"delivery annotations":   {got.DeliveryAnnotations, want.DeliveryAnnotations},
			"annotations":            {got.Annotations, want.Annotations},
			"properties":             {got.Properties, want.Properties},
			"application properties": {got.ApplicationProperties, want.ApplicationProperties},
			"data":                   {got.Data, want.Data}, "value": {got.Value, want.Value},
			"sequence": {got.Sequence, want.Sequence}, "footer": {got.Footer, want.Footer}} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Fatalf("%s: %+v, want %+v", what, pair[0], pair[1])
			}
		}
		compareWithGo(t, ours, sent)
	}
}

// compareWithGo compares a message as this project has decoded it with the message that the SDK's AMQP
// library has encoded.
func compareWithGo(t *testing.T, ours *message.Message, sent *amqp.Message) {
	t.Helper()
	for slot, want := range map[message.PropertiesSectionField]*string{message.To: sent.Properties.To,
		message.Subject: sent.Properties.Subject, message.ReplyTo: sent.Properties.ReplyTo,
		message.ContentType: sent.Properties.ContentType, message.GroupID: sent.Properties.GroupID,
		message.ReplyToGroupID: sent.Properties.ReplyToGroupID} {
		if got := ours.Text(slot); want == nil && ours.Raw(slot) != nil || want != nil && got != *want {
			t.Fatalf("slot %d is %q", slot, got)
		}
	}
	if ours.OwnTTL() != sent.Header.TTL.Milliseconds() ||
		len(ours.Application) != len(sent.ApplicationProperties) {
		t.Fatalf("lives %d ms and has %d properties", ours.OwnTTL(), len(ours.Application))
	}
	if data, ok := ours.Data(); sent.Data != nil && (!ok || !bytes.Equal(data, bytes.Join(sent.Data, nil))) {
		t.Fatalf("the body is %x", data)
	}
}

// TestBatchesOfGo checks that a batch which the SDK's AMQP library has encoded is split into its messages.
func TestBatchesOfGo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	envelope := &amqp.Message{
		Format:      message.BatchFormat,
		Annotations: amqp.Annotations{"x-opt-partition-key": "p"},
		Properties:  amqpProperties(r),
	}
	var sent []*amqp.Message
	for range 50 {
		one := amqpMessage(r)
		raw, err := one.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		sent, envelope.Data = append(sent, one), append(envelope.Data, raw)
	}
	raw, err := envelope.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	list, err := message.ParseBatch(raw)
	if err != nil || len(list) != len(sent) {
		t.Fatalf("%d messages, %v", len(list), err)
	}
	for i, m := range list {
		compareWithGo(t, m, sent[i])
	}
}

// TestValuesForGo encodes AMQP values with this project's code, as in the body of a response, and checks
// which Go values the SDK's AMQP library decodes from them.
func TestValuesForGo(t *testing.T) {
	for _, c := range []struct{ ours, theirs any }{
		{wire.Map{{Key: "sequence-numbers", Value: wire.Longs([]int64{1, 2})}},
			map[string]any{"sequence-numbers": []int64{1, 2}}},
		{wire.Map{{Key: "sessions-ids", Value: wire.Strings([]string{"a"})},
			{Key: "skip", Value: int32(300)}},
			map[string]any{"sessions-ids": []string{"a"}, "skip": int32(300)}},
		{wire.Map{{Key: "expirations", Value: wire.Timestamps([]wire.Timestamp{5})}},
			map[string]any{"expirations": []time.Time{time.UnixMilli(5).UTC()}}},
		{wire.Map{{Key: "lock-tokens", Value: wire.UUIDs([]wire.UUID{{1}})}},
			map[string]any{"lock-tokens": []amqp.UUID{{1}}}},
		{wire.List{wire.Map{{Key: "message", Value: []byte("m")}}, wire.List{}, nil},
			[]any{map[string]any{"message": []byte("m")}, []any(nil), nil}},
		{wire.Map{{Key: "list", Value: wire.List{strings.Repeat("x", 300)}}},
			map[string]any{"list": []any{strings.Repeat("x", 300)}}},
	} {
		raw, err := wire.Append(nil, wire.Described{Descriptor: uint64(0x77), Value: c.ours})
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, raw).Value; !reflect.DeepEqual(got, c.theirs) {
			t.Errorf("%#v is read as %#v", c.ours, got)
		}
	}
}

// readAtRisk decodes a message with the SDK's AMQP library. If the library panics, it returns an error.
func readAtRisk(raw []byte) (m *amqp.Message, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("they panic: %v", caught)
		}
	}()
	m = &amqp.Message{}
	return m, m.UnmarshalBinary(raw)
}

// FuzzMessagesOfGo decodes random bytes with the SDK's AMQP library and with this project's code. If both
// succeed, the library must decode the same message from what this project encodes.
func FuzzMessagesOfGo(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		raw, err := amqpMessage(r).MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		sent, err := readAtRisk(raw)
		if err != nil {
			return
		}
		ours, err := message.Parse(raw)
		if err != nil {
			return // we are stricter with the order of sections and with types
		}
		got := &amqp.Message{}
		if err := got.UnmarshalBinary(ours.AppendWire(nil, untold)); err != nil {
			t.Fatalf("they read what was sent, and not what we hand on: %v", err)
		}
		for _, pair := range [][2]any{{sent.Data, got.Data}, {sent.Value, got.Value},
			{sent.Sequence, got.Sequence},
			{sent.Footer, got.Footer}} {
			if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) { // as text, because NaN differs from itself
				t.Fatalf("they read %v from the sender, and %v from us", pair[0], pair[1])
			}
		}
	})
}
