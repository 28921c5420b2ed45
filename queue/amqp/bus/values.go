package bus

import (
	"time"

	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// integer converts an integer of any AMQP type. ok is false for other values.
func integer(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint64:
		return int64(v), v <= 1<<63-1
	case wire.Timestamp:
		return int64(v), true
	}
	return 0, false
}

// elements returns the elements of an AMQP array or list; ok is false for other values.
func elements(v any) (list []any, ok bool) {
	switch v := v.(type) {
	case wire.Array:
		return v.Elements, true
	case wire.List:
		return v, true
	}
	return nil, false
}

// integer returns the integer with this name in the body of a request, or the value absent if the body does
// not have it.
func (r *managementRequest) integer(name string, absent int64) (int64, error) {
	v, there := r.body.Get(name)
	if !there || v == nil {
		return absent, nil
	}
	n, ok := integer(v)
	if !ok {
		return 0, r.argument("'" + name + "' is no number.")
	}
	return n, nil
}

// text returns the string with this name in the body, or nil if there is none.
func (r *managementRequest) text(name string) (*string, error) {
	v, there := r.body.Get(name)
	if !there || v == nil {
		return nil, nil
	}
	text, ok := nameOf(v)
	if !ok {
		return nil, r.argument("'" + name + "' is no string.")
	}
	return &text, nil
}

// mustText returns the string that the body of the request has under name. It fails if the string is missing
// or the value is not a string.
func (r *managementRequest) mustText(name string) (string, error) {
	text, err := r.text(name)
	if err == nil && text == nil {
		err = r.argument("'" + name + "' is missing.")
	}
	if err != nil {
		return "", err
	}
	return *text, nil
}

// numbers returns the sequence numbers in the body.
func (r *managementRequest) numbers() ([]int64, error) {
	return listOf(r, "sequence-numbers", "A sequence number is no number.", integer)
}

// tokens returns the lock tokens in the body.
func (r *managementRequest) tokens() ([]message.UUID, error) {
	return listOf(r, "lock-tokens", "A lock token is no UUID.", func(v any) (message.UUID, bool) {
		id, ok := v.(wire.UUID)
		return id, ok
	})
}

// listOf returns the elements of an array or a list with this name in the body of a request, converted by
// read. If read returns false, listOf fails with the message refusal.
func listOf[T any](r *managementRequest, name, refusal string, read func(any) (T, bool)) ([]T, error) {
	v, _ := r.body.Get(name)
	all, ok := elements(v)
	if !ok {
		return nil, r.argument("'" + name + "' is no array.")
	}
	list := make([]T, len(all))
	for i, e := range all {
		if list[i], ok = read(e); !ok {
			return nil, r.argument(refusal)
		}
	}
	return list, nil
}

func timestamp(t time.Time) wire.Timestamp { return wire.Timestamp(t.UnixMilli()) }
