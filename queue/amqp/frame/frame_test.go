package frame

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/queue/wire"
)

// bodies returns one value of each type of Body, with all fields set.
func bodies() []Body {
	symbols := []wire.Symbol{"a", "b"}
	properties := wire.Map{{Key: wire.Symbol("k"), Value: "v"}}
	failure := &Error{Condition: CondNotFound, Description: "no", Info: properties}
	source := &Source{Address: "q", HasAddress: true, Durable: 1, ExpiryPolicy: "never", Timeout: 5,
		Dynamic:        true,
		NodeProperties: properties, DistributionMode: "copy", Filter: wire.Map{{Key: wire.Symbol("f"),
			Value: nil}},
		DefaultOutcome: AppendValue(nil, &Released{}), Outcomes: symbols, Capabilities: symbols}
	target := &Target{Address: "", HasAddress: true, Durable: 2, ExpiryPolicy: "x", Timeout: 1, Dynamic: true,
		NodeProperties: properties, Capabilities: symbols}
	return []Body{
		&Open{ContainerID: "c", Hostname: "h", MaxFrameSize: 1024, ChannelMax: 9, IdleTimeout: 1000,
			Offered: symbols,
			Desired: symbols, Properties: properties},
		&Begin{RemoteChannel: Some(3), NextOutgoingID: 1, IncomingWindow: 2, OutgoingWindow: 3, HandleMax: 4,
			Offered: symbols, Desired: symbols, Properties: properties},
		&Attach{Name: "l", Handle: 1, Receiver: true, SndSettleMode: 1, RcvSettleMode: 1, Source: source,
			Target: target,
			Unsettled: []byte{0xc1, 1,
				0}, IncompleteUnsettled: true, InitialDeliveryCount: Some(0), MaxMessageSize: 7,
			Offered: symbols, Desired: symbols, Properties: properties},
		&Attach{Name: "l", Target: &Coordinator{Capabilities: symbols}},
		&Attach{Name: "refused"},
		&Flow{NextIncomingID: Some(1), IncomingWindow: 2, NextOutgoingID: 3, OutgoingWindow: 4,
			Handle:        Some(5),
			DeliveryCount: Some(6), LinkCredit: Some(7), Available: Some(
				8), Drain: true, Echo: true, Properties: properties},
		&Flow{},
		&Transfer{Handle: 1, DeliveryID: Some(2), DeliveryTag: []byte{1}, MessageFormat: Some(0),
			Settled: true, More: true,
			RcvSettleMode: Some(1), State: &Transactional{TxnID: []byte{1},
				Outcome: &Accepted{}}, Resume: true,
			Aborted: true, Batchable: true},
		&Disposition{Receiver: true, First: 1, Last: Some(2), Settled: true, State: &Rejected{failure},
			Batchable: true},
		&Disposition{Last: Some(0), State: &Modified{true, true, properties}},
		&Disposition{Last: Some(0), State: &Received{1, 2}},
		&Disposition{Last: Some(0), State: &Released{}},
		&Disposition{Last: Some(0), State: &Declared{[]byte{1}}},
		&Detach{Handle: 1, Closed: true, Error: failure},
		&End{failure}, &Close{}, &Close{failure},
		&SASLMechanisms{symbols}, &SASLInit{"PLAIN", []byte{0, 1}, "h"}, &SASLChallenge{[]byte{1}},
		&SASLResponse{[]byte{}},
		&SASLOutcome{1, nil},
	}
}

func TestBodies(t *testing.T) {
	for _, b := range bodies() {
		raw := Append(nil, 7, b, []byte("payload"))
		f, err := NewReader(bytes.NewReader(raw), 4096).Next()
		if err != nil || f.Channel != 7 {
			t.Fatalf("%T: %+v, %v", b, f, err)
		}
		got, payload, err := Parse(f.Body)
		if err != nil || string(payload) != "payload" || !cmp.Equal(got, b) {
			t.Errorf("%T: %v, %q\n%s", b, err, payload, cmp.Diff(b, got))
		}
	}
}

// TestFieldCount checks that each body is written with all of its fields, as a list8 after a descriptor of
// one byte.
func TestFieldCount(t *testing.T) {
	for b, want := range map[Body]int{&Open{}: 10, &Begin{}: 8, &Attach{}: 14, &Flow{}: 11, &Transfer{}: 11,
		&Disposition{}: 6, &Detach{}: 3, &End{}: 1, &Close{}: 1, &Error{}: 3,
		&Source{}: 11, &Target{}: 7, &Modified{}: 3} {
		raw := AppendValue(nil, b)
		if raw[0] != 0 || raw[1] != 0x53 || raw[3] != 0xc0 || int(raw[5]) != want {
			t.Errorf("%T is written as %x", b, raw)
		}
	}
	if got := hex.EncodeToString(AppendValue(nil, &Accepted{})); got != "005324c00100" {
		t.Errorf("accepted is written as %s", got)
	}
}

// TestShortLists checks that Parse accepts a body whose last fields are missing, which count as null, and
// a descriptor in the form of a symbol.
func TestShortLists(t *testing.T) {
	for text, want := range map[string]Body{
		"005310c00401a10163":    &Open{ContainerID: "c", MaxFrameSize: 1<<32 - 1, ChannelMax: 1<<16 - 1},
		"005318" + "45":         &Close{},
		"005315c0030241" + "43": &Disposition{Receiver: true},
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := Parse(raw); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v\n%s", text, err, cmp.Diff(want, got))
		}
	}
	raw, err := wire.Append(nil, wire.Described{Descriptor: wire.Symbol("amqp:detach:list"),
		Value: wire.List{uint32(5)}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := Parse(raw); err != nil || !cmp.Equal(got, Body(&Detach{Handle: 5})) {
		t.Errorf("detach by its name: %+v, %v", got, err)
	}
}

func TestMalformedBodies(t *testing.T) {
	described := func(code uint64, fields ...any) []byte {
		raw, err := wire.Append(nil, wire.Described{Descriptor: code, Value: wire.List(fields)})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	accepted := wire.Described{Descriptor: uint64(descAccepted), Value: wire.List{}}
	nested := wire.Described{Descriptor: uint64(descTransactional), Value: wire.List{[]byte{1}, accepted}}
	for name, c := range map[string]struct {
		raw  []byte
		want wire.Symbol
	}{
		"nothing":              {nil, CondDecode},
		"not described":        {[]byte{0x40}, CondDecode},
		"unknown":              {described(0x99), CondFraming},
		"no list":              {[]byte{0, 0x53, 0x10, 0x40}, CondDecode},
		"flow without windows": {described(descFlow), CondInvalidField},
		"attach without name":  {described(descAttach, nil, uint32(1), true), CondInvalidField},
		"attach without role":  {described(descAttach, "n", uint32(1)), CondInvalidField},
		"settle mode 3":        {described(descAttach, "n", uint32(1), true, uint8(3)), CondInvalidField},
		"source that is none": {described(descAttach, "n", uint32(1), true, nil, nil, accepted),
			CondInvalidField},
		"target that is none": {described(descAttach, "n", uint32(1), true, nil, nil, nil, accepted),
			CondInvalidField},
		"role of a number": {described(descDisposition, uint8(1), uint32(1)), CondInvalidField},
		"state that is none": {described(descDisposition, true, uint32(1), nil, nil,
			wire.Described{Descriptor: uint64(9)}), CondInvalidField},
		"nested transactions": {described(descDisposition, true, uint32(1), nil, nil,
			wire.Described{Descriptor: uint64(descTransactional),
				Value: wire.List{[]byte{1}, nested}}), CondInvalidField},
		"begin answers 65536": {described(descBegin, uint32(1<<16), uint32(0), uint32(0), uint32(0)),
			CondInvalidField},
		"transfer settles 256": {described(descTransfer, uint32(0), nil, nil, nil, nil, nil, uint32(256)),
			CondInvalidField},
		"a word for a number":   {described(descTransfer, "x"), CondDecode},
		"outcome of five bytes": {described(descSASLOutcome, uint32(1<<20)), CondDecode},
	} {
		var e *FormatError
		if b, _, err := Parse(c.raw); !errors.As(err, &e) || e.Condition != c.want {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

func TestReader(t *testing.T) {
	for name, c := range map[string]struct {
		raw     string
		framing bool
	}{
		"too large":             {"0000020102000000", true},
		"body before its start": {"0000000801000000", true},
		"body behind the end":   {"0000000803000000", true},
		"another type":          {"0000000802020000", true},
		"half a head":           {"00000008", false},
		"half a body":           {"0000000a0200000041", false},
	} {
		raw, err := hex.DecodeString(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		var e *FormatError
		_, err = NewReader(bytes.NewReader(raw), MinMaxFrameSize).Next()
		if errors.As(err, &e) != c.framing || !c.framing && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stream := append(AppendHeartbeat(nil), 0, 0, 0, 13, 3, 0, 0, 1, 9, 9, 9, 9, 0x41)
	r := NewReader(io.MultiReader(bytes.NewReader(headerAMQP[:]), bytes.NewReader(stream)), MinMaxFrameSize)
	if h, err := r.ProtocolHeader(); err != nil || h != HeaderAMQP() {
		t.Errorf("%v, %v", h, err)
	}
	if f, err := r.Next(); err != nil || len(f.Body) != 0 {
		t.Errorf("a heartbeat: %+v, %v", f, err)
	}
	if f, err := r.Next(); err != nil || f.Channel != 1 || !bytes.Equal(f.Body, []byte{0x41}) {
		t.Errorf("a frame with an extended header: %+v, %v", f, err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
}

func TestParseRequest(t *testing.T) {
	for _, b := range []Body{&Declare{}, &Discharge{TxnID: []byte{1}, Fail: true}} {
		if got, err := ParseRequest(AppendValue(nil, b)); err != nil || !cmp.Equal(got, b) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, err := ParseRequest(AppendValue(nil, &Accepted{})); err == nil {
		t.Error("accepted is no request")
	}
}

// FuzzParse checks that no input makes Parse panic, and that a parsed body is written in a form that
// parses to the same body.
func FuzzParse(f *testing.F) {
	for _, b := range bodies() {
		f.Add(AppendValue(nil, b))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = ParseRequest(raw)
		_, _ = NewReader(bytes.NewReader(raw), MinMaxFrameSize).Next()
		b, payload, err := Parse(raw)
		if err != nil {
			return
		}
		again, rest, err := Parse(append(AppendValue(nil, b), payload...))
		if err != nil || !bytes.Equal(rest, payload) {
			t.Fatalf("%+v was written so that it reads as %+v, %v", b, again, err)
		}
		if once, twice := AppendValue(nil, b), AppendValue(nil, again); !bytes.Equal(once, twice) {
			t.Fatalf("%x, then %x", once, twice)
		}
	})
}
