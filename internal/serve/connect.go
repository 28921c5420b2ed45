package serve

import (
	"net"
	"slices"

	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/queue/access"
)

// connection returns what clients need to connect to the ports of this server. If no key is required, it
// does not include the configured Service Bus keys.
func (s *Server) connection() *laboratory.ConnectionInfo {
	c := &laboratory.ConnectionInfo{Ports: ports(s.o.Listeners), Direct: s.o.HTTP.Direct}
	if s.o.ServiceBus != nil {
		key := access.EmulatorKey()
		if keys := s.o.ServiceBus.Access.Keys; len(keys) > 0 {
			if key = keys[0]; s.o.HTTP.NoAuth {
				key.Text = ""
			}
		}
		c.ServiceBus = &laboratory.ServiceBusConnectionInfo{
			Ports:   ports(s.o.ServiceBus.Listeners),
			KeyName: key.Name,
			Key:     key.Text,
		}
	}
	return c
}

// ports returns the port numbers of the listeners, each once and in their order.
func ports(listeners []net.Listener) []int {
	list := []int{}
	for _, ln := range listeners {
		if a, ok := ln.Addr().(*net.TCPAddr); ok && !slices.Contains(list, a.Port) {
			list = append(list, a.Port)
		}
	}
	return list
}
