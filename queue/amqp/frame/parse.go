package frame

import (
	"errors"
	"math"

	"github.com/mayflydb/mayfly/queue/wire"
)

// names maps symbolic descriptors to numeric ones.
var names = map[wire.Symbol]uint64{
	"amqp:open:list": descOpen, "amqp:begin:list": descBegin, "amqp:attach:list": descAttach,
	"amqp:flow:list": descFlow, "amqp:transfer:list": descTransfer, "amqp:disposition:list": descDisposition,
	"amqp:detach:list": descDetach, "amqp:end:list": descEnd, "amqp:close:list": descClose,
	"amqp:error:list": descError, "amqp:received:list": descReceived, "amqp:accepted:list": descAccepted,
	"amqp:rejected:list": descRejected, "amqp:released:list": descReleased,
	"amqp:modified:list": descModified,
	"amqp:source:list":   descSource, "amqp:target:list": descTarget,
	"amqp:coordinator:list": descCoordinator,
	"amqp:declare:list":     descDeclare, "amqp:discharge:list": descDischarge,
	"amqp:declared:list":            descDeclared,
	"amqp:transactional-state:list": descTransactional, "amqp:sasl-mechanisms:list": descMechanisms,
	"amqp:sasl-init:list": descInit, "amqp:sasl-challenge:list": descChallenge,
	"amqp:sasl-response:list": descResponse, "amqp:sasl-outcome:list": descSASLOutcome,
}

// Parse decodes the body of a frame. payload is the rest of the frame, which only a transfer has. Errors
// are *FormatError.
func Parse(b []byte) (body Body, payload []byte, err error) {
	code, name, value, payload, err := wire.SplitDescribed(b)
	if err != nil {
		return nil, nil, &FormatError{Condition: CondDecode, Reason: "no performative", Err: err}
	}
	if name != "" {
		code = names[name]
	}
	f := wire.ReadFields(value, "a performative")
	if body = read(code, &f); body == nil {
		return nil, nil, framing("no performative has the descriptor %#x", code)
	}
	if err := f.Err(); err != nil {
		return nil, nil, formatError(err)
	}
	return body, payload, nil
}

// formatError returns err if it is a *FormatError. Other errors come from package wire; it converts them to
// decode-error.
func formatError(err error) error {
	var e *FormatError
	if errors.As(err, &e) {
		return e
	}
	return &FormatError{Condition: CondDecode, Reason: "a malformed performative", Err: err}
}

func read(code uint64, f *wire.FieldReader) Body {
	switch code {
	case descOpen:
		return readOpen(f)
	case descBegin:
		return readBegin(f)
	case descAttach:
		return readAttach(f)
	case descFlow:
		return readFlow(f)
	case descTransfer:
		return readTransfer(f)
	case descDisposition:
		return readDisposition(f)
	case descDetach:
		return readDetach(f)
	case descEnd:
		return &End{readError(f)}
	case descClose:
		return &Close{readError(f)}
	case descMechanisms:
		return &SASLMechanisms{f.Symbols()}
	case descInit:
		return readSASLInit(f)
	case descChallenge:
		return &SASLChallenge{f.Bytes()}
	case descResponse:
		return &SASLResponse{f.Bytes()}
	case descSASLOutcome:
		return &SASLOutcome{f.Uint8(math.MaxUint8), f.Bytes()}
	}
	return nil
}

// described splits a described value. A symbolic descriptor is converted to a numeric one.
func described(raw []byte) (code uint64, value []byte, err error) {
	code, name, value, _, err := wire.SplitDescribed(raw)
	if name != "" {
		code = names[name]
	}
	return code, value, err
}

// inner starts to read a described list that is a field of another one. ok is false if the value is null or
// missing. If the value has another descriptor, ok is false as well, and f fails.
func inner(f *wire.FieldReader, want uint64, what string) (in wire.FieldReader, ok bool) {
	raw := f.Raw()
	if raw == nil {
		return in, false
	}
	code, value, err := described(raw)
	if err == nil && code != want {
		err = &FormatError{Condition: CondInvalidField, Reason: "another type where " + what + " is due"}
	}
	if err != nil {
		f.Fail(err)
		return in, false
	}
	return wire.ReadFields(value, what), true
}

func missing(what string) error {
	return &FormatError{Condition: CondInvalidField, Reason: "there is no " + what}
}

// must reads a mandatory number. If it is missing, f fails; what names it in the error.
func must(f *wire.FieldReader, what string) uint32 {
	n, ok := f.OptionalUint32()
	if !ok {
		f.Fail(missing(what))
	}
	return n
}

func mustBool(f *wire.FieldReader, what string) bool {
	raw := f.Raw()
	if raw == nil {
		f.Fail(missing(what))
		return false
	}
	v, _, err := wire.Value(raw)
	b, ok := v.(bool)
	if err != nil || !ok {
		f.Fail(missing(what))
	}
	return b
}

func maybe(f *wire.FieldReader) OptionalNumber {
	n, ok := f.OptionalUint32()
	return OptionalNumber{n, ok}
}

// maybeUpTo reads an optional number of a type that is smaller than uint32. most is the maximum of that
// type.
func maybeUpTo(f *wire.FieldReader, most uint32, what string) OptionalNumber {
	m := maybe(f)
	if m.Set && m.Value > most {
		f.Fail(&FormatError{Condition: CondInvalidField, Reason: "the " + what + " is too large"})
	}
	return m
}

func symbol(f *wire.FieldReader) wire.Symbol {
	text, _ := f.Text()
	return wire.Symbol(text)
}
