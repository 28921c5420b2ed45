package amqp

import (
	"log/slog"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// debug logs an event of a link, which helps to find the cause of a client's problem. e is the error of the
// event, or nil.
func (l *Link) debug(what string, e *frame.Error) {
	log := l.s.c.o.Logger
	if !log.Enabled(l.s.c.life, slog.LevelDebug) {
		return
	}
	direction := "sends"
	if l.receiver {
		direction = "receives"
	}
	attrs := []any{"link", l.name, "address", l.address(), "client", direction}
	if e != nil {
		attrs = append(attrs, "condition", string(e.Condition), "description", e.Description)
	}
	log.Debug(what, attrs...)
}

// address returns the address of the node as the client requested it.
func (l *Link) address() string {
	if l.receiver {
		if l.request.Source == nil {
			return ""
		}
		return l.request.Source.Address
	}
	switch t := l.request.Target.(type) {
	case *frame.Target:
		return t.Address
	case *frame.Coordinator:
		return "the coordinator of transactions"
	}
	return ""
}
