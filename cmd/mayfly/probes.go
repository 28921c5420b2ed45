package main

import (
	"context"
	"net"
)

// openPorts opens the Cosmos DB ports, on which nothing is answered before Run, and the port for health
// probes.
func (s *serveCommandState) openPorts(ctx context.Context) (err error) {
	if s.listeners, err = listen(ctx, &s.flags, s.log); err != nil {
		return err
	}
	return s.openProbes(ctx)
}

// openProbes opens the port for health probes, if one is set, and answers probes from now on. If the port is
// in use it only logs a warning, since the server works without it.
func (s *serveCommandState) openProbes(ctx context.Context) error {
	port, on, err := s.flags.health()
	if err != nil || !on {
		return err
	}
	first, err := listenOn(ctx, s.flags.host, port)
	if err != nil {
		s.log.Warn("the port for health probes is not available", "error", err)
		return nil
	}
	all := []net.Listener{first}
	if s.flags.usesIPv6Loopback() {
		ln, err := listenOn(ctx, "::1", portOf(first))
		if err != nil { // the machine may have no IPv6
			s.log.Debug("an additional port is not available", "error", err)
		} else {
			all = append(all, ln)
		}
	}
	s.log.Info("answering health probes", "address", first.Addr().String())
	s.probes.Start(all)
	return nil
}
