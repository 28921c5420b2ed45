package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/hook"
	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/inject"
	"github.com/mayflydb/mayfly/internal/probe"
	"github.com/mayflydb/mayfly/laboratory"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/seed"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/telemetry"
	"github.com/mayflydb/mayfly/ttl"
)

// drainTime is how long requests that are under way may take to end once the server has been told to stop,
// and stopTime how long all of the stop may take: what the requests and breaking them off leave of it is the
// store's, to close on a disk that may be slow. A server is gone in less than 15 seconds, whatever is stuck.
const (
	drainTime = 9 * time.Second
	stopTime  = 14 * time.Second
)

// ownDescriptors is how many file descriptors are kept for what is neither data nor a client's connection:
// ports, logs, certificates, webhooks.
const ownDescriptors = 32

// minConnections is how many clients are let in where there are hardly any descriptors.
const minConnections = 8

func serveCommand() *cobra.Command {
	s := &serve{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer on one port for HTTP and HTTPS until told to stop",
		Args:  cobra.NoArgs,
		Long: "Answer on one port for HTTP and HTTPS until told to stop.\n\n" +
			"Each flag can be given as an environment variable, too: --log-level is MAYFLY_LOG_LEVEL.",
	}
	s.flags.register(cmd.Flags())
	cmd.RunE = run(func(cmd *cobra.Command, _ []string) error {
		sources, err := applyVariables(cmd.Flags(), os.LookupEnv)
		if err != nil {
			return err
		}
		if err := s.flags.settle(sources); err != nil {
			return err
		}
		s.log = newLogger(cmd.ErrOrStderr(), s.flags.logLevel, s.flags.logFormat)
		tellMisspelled(s.log, cmd.Flags(), os.Environ())
		if s.flags.emulatorVariables {
			tellEmulatorVariables(s.log, os.LookupEnv)
		}
		if err := s.Open(cmd.Context()); err != nil {
			return err
		}
		s.greet(cmd.OutOrStdout())
		if s.flags.emulatorVariables {
			s.greetEmulator(cmd.OutOrStdout())
		}
		return s.Run(cmd.Context())
	})
	return cmd
}

// serve is the whole product: ports, engine, store and wire.
type serve struct {
	flags serveFlags
	log   *slog.Logger

	listeners []net.Listener
	probes    probe.Server
	db        *store.DB
	queues    *queue.Queues
	bus       *servicebus // nil: Service Bus is not asked for
	hooks     *hook.Deliverer
	http      *httpapi.Server
	telemetry *telemetry.Telemetry // nil: nobody wants any
	faults    *inject.Rules
	seed      *seed.Seed // nil: none is asked for
	tls       *tls.Config
	room      int    // the threads that makeRoom has added
	certPath  string // "" where the certificate is kept in memory only
}

// Open reads the seed, takes the ports, then opens the data. Nothing is answered before Run; a client that
// connects earlier waits. Where it fails, nothing stays open.
func (s *serve) Open(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.readSeed(); err != nil {
		return err
	}
	if err := s.openPorts(ctx); err != nil {
		return err
	}
	if s.flags.servicebus.on {
		s.bus = &servicebus{}
		if err := s.bus.prepare(ctx, &s.flags, s.log); err != nil {
			return err
		}
	}
	if s.db, err = s.openStore(ctx); err != nil {
		return err
	}
	s.makeRoom()
	if err := errors.Join(s.openTelemetry(ctx), s.plantSeed(ctx), s.keepSeeded(ctx)); err != nil {
		return err
	}
	s.hooks = hook.Open(hook.Options{DB: s.db, Queues: s.queues, Logger: s.log, Allow: s.flags.webhooks})
	pem, err := s.openCertificate()
	if err != nil {
		return err
	}
	s.http, err = httpapi.New(s.withSignals(httpapi.Options{
		DB:           s.db,
		Queues:       s.queues,
		Key:          s.flags.key,
		NoAuth:       s.flags.noAuth,
		NoClockCheck: s.flags.noClockCheck,
		Advertise:    s.flags.advertise,
		Hosts:        append([]string{s.flags.host}, s.flags.san...),
		CORSOrigins:  s.flags.corsOrigins,
		AccountID:    s.flags.accountID,
		Consistency:  s.flags.consistency,
		Strict:       s.flags.strict,

		ServeCrossPartition: s.flags.serveCrossPartition,
		MaxConnections:      s.maxConnections(),
		Throttle:            s.flags.throttle,
		Direct:              s.flags.direct,
		CertPEM:             pem,
		Ready:               s.ready,
		Webhooks:            s.webhooks,
		CheckWebhook:        s.flags.webhooks.Check,
		Logger:              s.log,
	}))
	if err == nil && s.bus != nil {
		s.bus.open(s)
	}
	return err
}

// makeRoom gives the work that stands back for other work a place each among the threads that run Go code.
func (s *serve) makeRoom() {
	if os.Getenv("GOMAXPROCS") == "" {
		s.room = s.db.LongWork()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + s.room)
	}
}

// webhooks tells how the webhooks stand.
func (s *serve) webhooks() []laboratory.WebhookMetrics {
	var list []laboratory.WebhookMetrics
	for _, w := range s.hooks.Status() {
		if w.ChangesTo != "" {
			continue
		}
		var address *hook.AddressError
		list = append(list, laboratory.WebhookMetrics{Database: w.Database, Container: w.Container,
			URL: w.URL, Delivered: w.Delivered,
			Failures: w.Failures, Refused: errors.As(w.Err, &address)})
	}
	return list
}

// ready tells whether the store can be written and read, all the way down to the disk, and each range of it
// answers.
func (s *serve) ready(ctx context.Context) error {
	return s.db.Ready(ctx)
}

func (s *serve) openStore(ctx context.Context) (*store.DB, error) {
	if !s.flags.memory {
		if err := s.openFolder(); err != nil {
			return nil, fmt.Errorf("cannot make the data folder: %w", err)
		}
	}
	temp := ""
	if !s.flags.memory {
		temp = filepath.Join(s.flags.data, "tmp")
	}
	var clock ttl.Clock = ttl.Real{}
	o := pebble.Options{
		Dir:         s.flags.data,
		Memory:      s.flags.memory,
		Compression: s.flags.tableCompression(),
		Logger:      s.log,
		Now:         clock.Now,

		AcceptDamagedLog: s.flags.acceptDamagedLog,
	}
	if s.flags.virtualClock {
		clock = ttl.NewVirtual(clock)
	}
	e, err := pebble.Open(ctx, o)
	if err != nil {
		return nil, wayOn(err, s.flags.data)
	}
	s.queues = queue.New(queue.Options{Logger: s.log})
	return store.Open(ctx, e, store.Options{Clock: clock, Logger: s.log, Ranges: s.flags.ranges,
		FirstNumber:      s.firstNumber(),
		Lenient:          s.flags.lenient,
		TTLPreviousImage: s.flags.ttlPreviousImage,
		ContinuousBackup: s.flags.continuousBackup,
		QueryTime:        s.flags.limits.queryTime, ScriptTime: s.flags.limits.scriptTime,
		Memory: int64(s.flags.limits.memoryInFlight), Temp: temp}, s.queues.Tenant())
}

// openFolder makes the data folder, which is its owner's alone. Where it exists the rights are the user's
// choice; what is made in it belongs to the owner in any case.
func (s *serve) openFolder() error {
	keepFilesPrivate()
	if err := os.MkdirAll(s.flags.data, 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(s.flags.data); err == nil && runtime.GOOS != "windows" &&
		info.Mode().Perm()&0o077 != 0 {
		s.log.Warn("other users of this machine can look into the data folder: chmod 700 keeps them out",
			"folder", s.flags.data,
			"mode", info.Mode().Perm().String())
	}
	return nil
}

// firstNumber is the number with which the ids of what is defined begin: in memory it grows from one start to
// the next, so that nothing that a client still knows names something else. It begins anew every 37 hours,
// since resource ids of throughputs have three bytes. Data on disk go on where they were, and so do their
// numbers.
func (s *serve) firstNumber() uint32 {
	if !s.flags.memory {
		return 0
	}
	const step, most = 16, 1 << 23 // milliseconds
	return 1 + uint32(ttl.Real{}.Now().UnixMilli()/step%most)
}

// openCertificate reads or makes the certificate. It lives beside the data, so that a client that trusts it
// once trusts it after a restart.
func (s *serve) openCertificate() (pem []byte, err error) {
	hosts := s.flags.san
	if ip := net.ParseIP(s.flags.host); ip == nil || !ip.IsUnspecified() {
		hosts = append([]string{s.flags.host}, hosts...)
	}
	if u, err := url.Parse(s.flags.advertise); err == nil && u.Scheme == "https" {
		hosts = append(slices.Clone(hosts), u.Hostname())
	}
	dir := ""
	if !s.flags.memory {
		dir = filepath.Join(s.flags.data, "tls")
	}
	cert, pem, path, err := httpapi.Certificate(dir, hosts)
	if err != nil {
		return nil, fmt.Errorf("cannot make the certificate: %w", err)
	}
	s.certPath = path
	s.tls = &tls.Config{Certificates: []tls.Certificate{cert}}
	return pem, nil
}

// Run answers until ctx ends or a listener fails, then closes everything.
func (s *serve) Run(ctx context.Context) error {
	var bus []net.Listener
	if s.bus != nil {
		bus = s.bus.listeners()
	}
	running := len(s.listeners) + len(bus)
	ended := make(chan error, running)
	for _, ln := range s.listeners {
		go func() { ended <- s.http.Serve(ln, s.tls) }()
	}
	for _, ln := range bus {
		go func() { ended <- s.bus.front.Serve(ln) }()
	}
	s.probes.Serving(s.ready)
	var first error
	select {
	case <-ctx.Done():
		s.log.Info("stopping: waiting for the requests that are under way")
	case first = <-ended:
		running--
	}
	err := s.Close()
	for range running {
		<-ended
	}
	return errors.Join(first, err)
}

// Close drains the requests, then closes the store and with it the engine. It may be called at any stage, and
// more than once.
func (s *serve) Close() error {
	s.probes.Stopping()
	return errors.Join(s.drain(), s.probes.Close())
}

// drain is Close but for the port for probes, which answers to the end.
func (s *serve) drain() error {
	var errs []error
	end, done := context.WithTimeout(context.Background(), stopTime)
	defer done()
	ctx, cancel := context.WithTimeout(end, drainTime)
	defer cancel()
	if s.bus != nil {
		errs = append(errs, s.bus.close(ctx))
	}
	if s.http != nil {
		if err := s.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			s.log.Warn("some requests did not end in time and were broken off")
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	s.closeTelemetry()
	for _, ln := range s.listeners {
		if err := ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	var stuck *httpapi.StuckError
	if errors.As(errors.Join(errs...), &stuck) {
		return errors.Join(errs...) // the store is in use: the next start recovers it, as after a crash
	}
	return errors.Join(append(errs, s.closeStore(end))...)
}

// closeStore closes the webhooks and the store. Where that does not end before ctx, the error names what it
// waits for: the process must end all the same, and takes with it what is left here.
func (s *serve) closeStore(ctx context.Context) error {
	if s.room > 0 {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) - s.room)
		s.room = 0
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
	return &stuckError{what}
}

// stuckError tells that the store did not close in time. Nothing that was acknowledged is lost by that.
type stuckError struct{ what string }

func (e *stuckError) Error() string { return "the store does not close: it waits for " + e.what }

// maxConnections is how many clients may be connected: what is left of the file descriptors when the engine
// has its share.
func (s *serve) maxConnections() int {
	left := pebble.DescriptorLimit() - ownDescriptors
	if !s.flags.memory {
		left -= pebble.DescriptorShare()
	}
	return max(left, minConnections)
}
