package serve

import (
	"context"
	"errors"
	"net"
	"runtime"
	"time"

	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/queue/front"
)

// stopTime is the time limit of Close. The time that is left after the requests have ended or were aborted
// is for closing the store, on a disk that may be slow. So a server ends within 15 seconds, whatever does
// not end.
const stopTime = 14 * time.Second

// telemetryTime is how long Close waits for the telemetry collector.
const telemetryTime = 2 * time.Second

// Run serves until ctx ends or a listener fails, then closes everything.
func (s *Server) Run(ctx context.Context) error {
	var bus []net.Listener
	if s.o.ServiceBus != nil {
		bus = s.o.ServiceBus.Listeners
	}
	running := len(s.o.Listeners) + len(bus)
	ended := make(chan error, running)
	for _, ln := range s.o.Listeners {
		go func() { ended <- s.http.Serve(ln, s.tls) }()
	}
	for _, ln := range bus {
		go func() { ended <- s.bus.Serve(ln) }()
	}
	s.probes.Serving(s.Ready)
	var first error
	select {
	case <-ctx.Done():
		s.o.Logger.Info("stopping: waiting for running requests")
	case first = <-ended:
		running--
	}
	err := s.Close()
	for range running {
		<-ended
	}
	return errors.Join(first, err)
}

// Close waits for running requests, then closes the store and with it the engine. It may be called at any
// time, and more than once.
func (s *Server) Close() error {
	s.probes.Stopping()
	return errors.Join(s.drain(), s.probes.Close())
}

// drain closes everything that Close closes, except for the port for probes, which stays open to the end.
func (s *Server) drain() error {
	var errs []error
	end, done := context.WithTimeout(context.Background(), stopTime)
	defer done()
	ctx, cancel := context.WithTimeout(end, s.o.Drain)
	defer cancel()
	if s.o.ServiceBus != nil {
		errs = append(errs, s.closeServiceBus(ctx))
	}
	if s.http != nil {
		err := s.http.Shutdown(ctx)
		switch late := errors.Is(err, context.DeadlineExceeded); {
		case late && s.o.Drain > 0:
			s.o.Logger.Warn("some requests did not end in time and were cancelled")
		case !late:
			errs = append(errs, err)
		}
	}
	s.closeTelemetry()
	errs = append(errs, closeListeners(s.o.Listeners))
	var stuck *httpapi.StuckRequestsError
	if err := errors.Join(errs...); errors.As(err, &stuck) || errors.Is(err, front.ErrStuck) {
		return err // the store is still in use: the next start recovers the data as after a crash
	}
	return errors.Join(append(errs, s.closeStore(end))...)
}

func closeListeners(list []net.Listener) error {
	var errs []error
	for _, ln := range list {
		if err := ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// closeTelemetry sends the telemetry data that are still buffered. An error of the collector is not
// returned as an error of the server.
func (s *Server) closeTelemetry() {
	if s.telemetry == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTime)
	defer cancel()
	if err := s.telemetry.Close(ctx); err != nil {
		s.o.Logger.Warn("telemetry could not be sent", "error", err)
	}
	s.telemetry = nil
}

// closeStore closes the webhooks and the store. If that has not ended when ctx does, it returns an error
// that names what it waits for. The process must then exit, which ends the goroutine that is still running
// here.
func (s *Server) closeStore(ctx context.Context) error {
	if s.extraThreads > 0 {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) - s.extraThreads)
		s.extraThreads = 0
	}
	closed := make(chan error, 1)
	go func() {
		if s.hooks != nil {
			s.hooks.Close()
		}
		if s.db == nil {
			closed <- nil
			return
		}
		closed <- s.db.Close()
	}()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	what := "the webhooks"
	if s.db != nil && s.db.Closing() != "" {
		what = s.db.Closing()
	}
	return &storeCloseTimeoutError{what}
}

// storeCloseTimeoutError reports that the store did not close in time. No acknowledged write is lost.
type storeCloseTimeoutError struct{ what string }

func (e *storeCloseTimeoutError) Error() string {
	return "the store does not close: it waits for " + e.what
}
