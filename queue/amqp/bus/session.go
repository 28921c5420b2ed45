package bus

import (
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/wire"
)

const (
	sessionFilter = "com.microsoft:session-filter"
	lockedUntil   = "com.microsoft:locked-until-utc"
	timeoutName   = "com.microsoft:timeout"
	// defaultPatience is how long a client waits for the next session where it does not say so.
	defaultPatience = 65 * time.Second
	maxPatience     = 24 * time.Hour
)

// sessionWish is what a client asks for by the filter of its source.
type sessionWish struct {
	id         string
	next       bool
	patience   time.Duration
	descriptor any // of the filter's value; nil: it is none that is described
}

// sessionWanted reads the filter; nil: the client asks for no session.
func sessionWanted(a *frame.Attach) (*sessionWish, error) {
	value, ok := a.Source.Filter.Get(sessionFilter)
	if !ok {
		return nil, nil
	}
	w := &sessionWish{patience: defaultPatience}
	if d, ok := value.(wire.Described); ok {
		w.descriptor, value = d.Descriptor, d.Value
	}
	switch v := value.(type) {
	case nil:
		w.next = true
	case string:
		w.id = v
	case wire.Symbol:
		w.id = string(v)
	default:
		return nil, &entity.Error{Code: entity.CodeArgument, Message: "The id of a session is a string."}
	}
	if ms, ok := milliseconds(a.Properties, timeoutName); ok {
		w.patience = min(ms, maxPatience)
	}
	return w, nil
}

// knownFilters refuses a filter that is the service's own and that is not known here. Others are not applied,
// and the answer does not name them.
func knownFilters(filters wire.Map) error {
	for _, p := range filters {
		if name, _ := nameOf(p.Key); strings.HasPrefix(name, "com.microsoft:") {
			return &entity.Error{Code: entity.CodeNotAllowed, Message: "'" + name +
				"' has an invalid filter type."}
		}
	}
	return nil
}

// milliseconds reads a duration from a map.
func milliseconds(m wire.Map, name string) (d time.Duration, ok bool) {
	v, _ := m.Get(name)
	n, ok := integer(v)
	if !ok || n < 0 || n > int64(maxPatience/time.Millisecond) {
		return maxPatience, ok && n > 0
	}
	return time.Duration(n) * time.Millisecond, true
}

// answer is the source with the session that was locked, told in the form in which the client has asked: each
// SDK knows one alone. The moment until which it is locked stands in the properties.
func (w *sessionWish) answer(asked *frame.Source, r *queue.Receiver) (*frame.Source, wire.Map) {
	id, until, _ := r.Session()
	var value any = id
	if w.descriptor != nil {
		value = wire.Described{Descriptor: w.descriptor, Value: id}
	}
	from := *asked
	from.Filter = nil // but for what is applied
	for _, p := range asked.Filter {
		if name, _ := nameOf(p.Key); name == sessionFilter {
			p.Value = value
			from.Filter = append(from.Filter, p)
		}
	}
	return &from, wire.Map{{Key: wire.Symbol(lockedUntil), Value: ticks(until)}}
}

// ticks is a moment as .NET counts it: units of 100 nanoseconds since the year 1.
func ticks(t time.Time) int64 { return t.UnixMilli()*10_000 + 621355968000000000 }
