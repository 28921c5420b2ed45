package serve

import (
	"context"
	"net"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/bus"
	"github.com/mayflydb/mayfly/queue/front"
	"github.com/mayflydb/mayfly/queue/rest"
	"github.com/mayflydb/mayfly/ttl"
)

// openServiceBus creates the server for the Service Bus ports.
func (s *Server) openServiceBus() {
	log, keys := s.o.Logger, s.o.ServiceBus.Access
	keys.Entities = s.queues
	guard := access.New(keys)
	o := bus.Options{Queues: s.queues, Guard: guard, Logger: log, Faults: s.faults, Memory: s.db.Memory(),
		Requests:                s.requests,
		CrossEntityTransactions: s.o.ServiceBus.CrossEntityTransactions}
	if s.telemetry != nil {
		o.Observe = s.telemetry.Message
	}
	options := bus.New(o).Options()
	s.bus = front.New(front.Options{
		AMQP: func(ctx context.Context, c net.Conn, idle func(bool)) error {
			own := options
			own.Idle = idle
			return amqp.Serve(ctx, c, own)
		},
		HTTP: rest.New(rest.Options{Queues: s.queues, Guard: guard, Logger: log, Faults: s.faults,
			Memory: s.db.Memory(), Requests: s.requests}),
		Admit:  s.http.Admits,
		TLS:    s.tls,
		Most:   serviceBusConnections(s.o.Engine.Memory),
		Wall:   ttl.SystemClock{},
		Logger: log,
	})
}

// closeServiceBus ends all connections as their protocols require, and closes the ports.
func (s *Server) closeServiceBus(ctx context.Context) error {
	if s.bus != nil {
		return s.bus.Shutdown(ctx)
	}
	return closeListeners(s.o.ServiceBus.Listeners)
}
