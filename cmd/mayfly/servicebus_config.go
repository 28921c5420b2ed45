package main

import (
	"context"
	"log/slog"
	"net"
	"os"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/config"
)

// boundServiceBusPortsAndConfig is the Service Bus part of the serve command: its open ports, and the file
// with entities.
type boundServiceBusPortsAndConfig struct {
	ports  []portListeners
	config *config.Config // nil: there is no file
}

// portListeners is a port with its listeners: on an IPv4 address, and on its IPv6 counterpart if there is
// one.
type portListeners struct {
	what      string
	secure    bool // clients use TLS
	listeners []net.Listener
}

// prepare does everything that can fail through a mistake of the user, before any data is opened.
func (b *boundServiceBusPortsAndConfig) prepare(ctx context.Context, f *serveFlags, log *slog.Logger) error {
	if err := b.readConfig(f.servicebus.config); err != nil {
		return err
	}
	return b.listen(ctx, f, log)
}

// listen opens the ports. If a port that the user has not set is in use, it only logs a warning.
func (b *boundServiceBusPortsAndConfig) listen(ctx context.Context, f *serveFlags, log *slog.Logger) error {
	for _, p := range f.servicebus.ports {
		if p.off {
			continue
		}
		first, err := listenOn(ctx, f.host, p.port)
		if err != nil && p.explicit {
			return err
		}
		if err != nil {
			log.Warn("a port of Service Bus is not available: choose another one with --"+p.flag,
				"error", err)
			continue
		}
		open := portListeners{p.what, p.secure, []net.Listener{first}}
		if f.usesIPv6Loopback() {
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
func (b *boundServiceBusPortsAndConfig) readConfig(name string) error {
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

// listeners returns the listeners of all ports.
func (b *boundServiceBusPortsAndConfig) listeners() (all []net.Listener) {
	for _, p := range b.ports {
		all = append(all, p.listeners...)
	}
	return all
}

// printPorts prints, for each Service Bus port, the connection string with which clients connect to it.
func (b *boundServiceBusPortsAndConfig) printPorts(s *serveCommandState, row func(name, value string)) {
	key := access.EmulatorKey()
	if len(s.flags.servicebus.signed) > 0 {
		key = s.flags.servicebus.signed[0]
		key.Text = "<the key given>" // the key is a secret that must not be in a log
	}
	title := "service bus"
	for _, p := range b.ports {
		text := "Endpoint=sb://" + s.authority(portOf(p.listeners[0])) + ";SharedAccessKeyName=" + key.Name +
			";SharedAccessKey=" + key.Text + ";"
		if !p.secure {
			text += "UseDevelopmentEmulator=true;" // clients that support this setting do not use TLS
		}
		row(title, text+" ("+p.what+")")
		title = ""
	}
}
