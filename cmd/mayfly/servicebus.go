package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/amqp/bus"
	"github.com/mayflydb/mayfly/queue/config"
	"github.com/mayflydb/mayfly/queue/front"
	"github.com/mayflydb/mayfly/queue/rest"
	"github.com/mayflydb/mayfly/ttl"
)

// servicebus answers for Service Bus on its ports, over the queues of a server.
type servicebus struct {
	ports  []openPort
	config *config.Config // nil: there is no file
	front  *front.Server
}

// openPort is a port with who listens there: an address of IPv4, and its twin of IPv6 where there is one.
type openPort struct {
	what      string
	secure    bool // clients come with TLS
	listeners []net.Listener
}

// prepare does what can fail for a reason of the user's, before any data are opened.
func (b *servicebus) prepare(ctx context.Context, f *serveFlags, log *slog.Logger) error {
	if err := b.readConfig(f.servicebus.config); err != nil {
		return err
	}
	return b.listen(ctx, f, log)
}

// listen takes the ports. One that the user has not named, and that is taken, is only worth a warning.
func (b *servicebus) listen(ctx context.Context, f *serveFlags, log *slog.Logger) error {
	for _, p := range f.servicebus.ports {
		if p.off {
			continue
		}
		first, err := listenOn(ctx, f.host, p.port)
		if err != nil && p.asked {
			return err
		}
		if err != nil {
			log.Warn("a port of Service Bus is not available: --"+p.flag+" takes another one", "error", err)
			continue
		}
		open := openPort{p.what, p.secure, []net.Listener{first}}
		if f.hasTwin() {
			if twin, err := listenOn(ctx, "::1", portOf(first)); err == nil {
				open.listeners = append(open.listeners, twin)
			}
		}
		b.ports = append(b.ports, open)
	}
	if len(b.ports) == 0 {
		return cli.Misuse("--servicebus: none of its ports is available")
	}
	return nil
}

// readConfig reads the file with entities, if there is one.
func (b *servicebus) readConfig(name string) error {
	if name == "" {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	b.config, err = config.Parse(name, data)
	return err
}

// plant makes the entities of the file.
func (b *servicebus) plant(ctx context.Context, queues *queue.Queues) error {
	if b.config == nil {
		return nil
	}
	return b.config.Apply(ctx, queues)
}

// open makes what answers there.
func (b *servicebus) open(s *serve) {
	f, queues, log := &s.flags, s.queues, s.log
	guard := f.servicebus.guard(f.noAuth, queues)
	o := bus.Options{Queues: queues, Guard: guard, Logger: log, Faults: s.faults, Room: s.db.Memory(),
		CrossEntityTransactions: f.servicebus.crossEntity}
	if s.telemetry != nil {
		o.Observe = s.telemetry.Message
	}
	options := bus.New(o).Options()
	b.front = front.New(front.Options{
		AMQP: func(ctx context.Context, c net.Conn, idle func(bool)) error {
			own := options
			own.Idle = idle
			return amqp.Serve(ctx, c, own)
		},
		HTTP: rest.New(rest.Options{Queues: queues, Guard: guard, Logger: log, Faults: s.faults,
			Room: s.db.Memory()}),
		Admit:  s.http.Admits,
		TLS:    s.tls,
		Most:   serviceBusConnections(f.memory),
		Wall:   ttl.Real{},
		Logger: log,
	})
}

// serviceBusConnections is how many connections Service Bus may have: as many as the service, and no more
// than half of the descriptors that there are.
func serviceBusConnections(memory bool) int {
	const most = 5000
	left := pebble.DescriptorLimit() - ownDescriptors
	if !memory {
		left -= pebble.DescriptorShare()
	}
	return min(most, max(left/2, minConnections))
}

// listeners are those of all ports.
func (b *servicebus) listeners() (all []net.Listener) {
	for _, p := range b.ports {
		all = append(all, p.listeners...)
	}
	return all
}

// close ends all connections by their protocols, and frees the ports.
func (b *servicebus) close(ctx context.Context) error {
	if b.front != nil {
		return b.front.Shutdown(ctx)
	}
	var errs []error
	for _, ln := range b.listeners() {
		errs = append(errs, ln.Close())
	}
	return errors.Join(errs...)
}

// greet tells how clients connect.
func (b *servicebus) greet(s *serve, row func(name, value string)) {
	key := access.EmulatorKey()
	if len(s.flags.servicebus.signed) > 0 {
		key = s.flags.servicebus.signed[0]
		key.Text = "<the key given>" // a secret does not belong into a log
	}
	title := "service bus"
	for _, p := range b.ports {
		text := "Endpoint=sb://" + s.authority(portOf(p.listeners[0])) + ";SharedAccessKeyName=" + key.Name +
			";SharedAccessKey=" + key.Text + ";"
		if !p.secure {
			text += "UseDevelopmentEmulator=true;" // clients that know it do not ask for TLS
		}
		row(title, text+" ("+p.what+")")
		title = ""
	}
}
