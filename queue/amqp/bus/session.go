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
	// defaultPatience is how long a client that sets no timeout waits for the next session.
	defaultPatience = 65 * time.Second
	maxPatience     = 24 * time.Hour
)

// requestedSession is the session filter of a client's source.
type requestedSession struct {
	id         string
	next       bool
	patience   time.Duration
	descriptor any // of a described filter value; nil: the value is not described
}

// readSessionFilter decodes the session filter. It returns nil if the client requests no session.
func readSessionFilter(a *frame.Attach) (*requestedSession, error) {
	value, ok := a.Source.Filter.Get(sessionFilter)
	if !ok {
		return nil, nil
	}
	w := &requestedSession{patience: defaultPatience}
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

// knownFilters refuses unsupported filters whose name begins with "com.microsoft:". Other filters are
// ignored, and the response does not list them.
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

// answer returns the source for the response to an attach, which names the locked session, and the link's
// properties. The filter has the form of asked, the client's source, because each SDK accepts only its own
// form. The properties contain the time at which the lock ends.
func (w *requestedSession) answer(asked *frame.Source, r *queue.Receiver) (*frame.Source, wire.Map) {
	id, until, _ := r.Session()
	var value any = id
	if w.descriptor != nil {
		value = wire.Described{Descriptor: w.descriptor, Value: id}
	}
	from := *asked
	from.Filter = nil // the response lists only filters that are applied
	for _, p := range asked.Filter {
		if name, _ := nameOf(p.Key); name == sessionFilter {
			p.Value = value
			from.Filter = append(from.Filter, p)
		}
	}
	return &from, wire.Map{{Key: wire.Symbol(lockedUntil), Value: ticks(until)}}
}

// ticks converts a time to .NET ticks: units of 100 nanoseconds since the year 1.
func ticks(t time.Time) int64 { return t.UnixMilli()*10_000 + 621355968000000000 }
