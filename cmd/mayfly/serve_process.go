package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/probe"
	"github.com/mayflydb/mayfly/internal/seed"
	product "github.com/mayflydb/mayfly/internal/serve"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// drainTime is how long running requests may take to end after the server has been told to stop.
const drainTime = 9 * time.Second

func serveCommand() *cobra.Command {
	s := &serveCommandState{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start a server for HTTP and HTTPS on one port",
		Args:  cobra.NoArgs,
		Long: "Start a server for HTTP and HTTPS on one port. It runs until it is stopped.\n\n" +
			"Each flag can also be set by an environment variable: --log-level by MAYFLY_LOG_LEVEL.",
	}
	s.flags.register(cmd.Flags())
	cmd.RunE = cli.Run(func(cmd *cobra.Command, _ []string) error {
		sources, err := applyServeVariables(cmd.Flags(), os.LookupEnv)
		if err != nil {
			return err
		}
		if err := s.flags.settle(sources); err != nil {
			return err
		}
		s.log = newLogger(cmd.ErrOrStderr(), s.flags.logLevel, s.flags.logFormat)
		cli.WarnMisspelled(s.log, cmd.Flags(), os.Environ())
		if s.flags.emulatorVariables {
			logIgnoredVariables(s.log, os.LookupEnv)
		}
		if err := s.Open(cmd.Context()); err != nil {
			return err
		}
		s.printStart(cmd.OutOrStdout())
		if s.flags.emulatorVariables {
			s.printEmulator(cmd.OutOrStdout())
		}
		return s.Run(cmd.Context())
	})
	return cmd
}

// serveCommandState is the serve command: its flags, the opened ports, and the server.
type serveCommandState struct {
	flags serveFlags
	log   *slog.Logger

	listeners []net.Listener
	bus       *boundServiceBusPortsAndConfig // nil: Service Bus is off
	probes    probe.HealthCheckServer
	seed      *seed.Seed // nil: no seed is given
	server    *product.Server
}

// Open reads the seed, opens the ports, and then opens the server. No request is answered before Run; a
// client that connects earlier waits. If Open fails it closes everything that it has opened.
func (s *serveCommandState) Open(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return errors.Join(err, s.closePorts())
	}
	var err error
	s.server, err = product.Open(ctx, s.options())
	s.seed = nil              // it contains all documents, whose memory can be freed now
	if s.flags.engine != "" { // the data are in no folder
		return err
	}
	return withRemedy(err, s.flags.data)
}

// prepare does everything that can fail through a mistake of the user, before any data is opened.
func (s *serveCommandState) prepare(ctx context.Context) (err error) {
	if s.flags.seed != "" {
		if s.seed, err = seed.Open(s.flags.seed); err != nil {
			return err
		}
	}
	if err := s.openPorts(ctx); err != nil {
		return err
	}
	if s.flags.servicebus.on {
		s.bus = &boundServiceBusPortsAndConfig{}
		if err := s.bus.prepare(ctx, &s.flags, s.log); err != nil {
			return err
		}
	}
	if s.flags.memory {
		return nil
	}
	if err := s.openFolder(); err != nil {
		return fmt.Errorf("cannot make the data folder: %w", err)
	}
	return nil
}

// closePorts closes the ports if the server was not opened.
func (s *serveCommandState) closePorts() error {
	all := s.listeners
	if s.bus != nil {
		all = append(all, s.bus.listeners()...)
	}
	errs := []error{s.probes.Close()}
	for _, ln := range all {
		errs = append(errs, ln.Close())
	}
	return errors.Join(errs...)
}

// Run serves until ctx ends or a listener fails, then closes everything.
func (s *serveCommandState) Run(ctx context.Context) error { return s.server.Run(ctx) }

// options returns the server's options from the flags.
func (s *serveCommandState) options() product.Options {
	f := &s.flags
	o := product.Options{Logger: s.log, Engine: s.engineOptions(), Store: s.storeOptions(),
		HTTP:   s.httpOptions(),
		Queues: true, Listeners: s.listeners, Webhooks: &f.webhooks, Certificate: s.certificate(),
		Telemetry: s.openTelemetry, Probes: &s.probes, ExtraThreads: os.Getenv("GOMAXPROCS") == "",
		Requests: int64(f.limits.requests), Drain: drainTime}
	switch {
	case f.engine != "":
		o.Remote = s.openPostgres
	case f.migrateTo != "":
		o.Remote = s.openMigrating
	}
	if f.virtualClock {
		o.Store.Clock = ttl.NewVirtualClock(ttl.SystemClock{})
	}
	if s.seed != nil {
		o.Seeds = []*seed.Seed{s.seed}
	}
	if s.bus != nil {
		o.ServiceBus = &product.ServiceBusOptions{Listeners: s.bus.listeners(), Config: s.bus.config,
			Access: f.servicebus.access(f.noAuth), CrossEntityTransactions: f.servicebus.crossEntity}
	}
	o.KeepSeeded = s.seed != nil || s.bus != nil && s.bus.config != nil
	return o
}

// openPostgres opens the engine on the PostgreSQL database whose URL --engine gives.
func (s *serveCommandState) openPostgres(ctx context.Context) (engine.Engine, error) {
	return openDatabase(ctx, s.flags.engine, s.log)
}

func (s *serveCommandState) engineOptions() pebble.Options {
	return pebble.Options{Dir: s.flags.data, Memory: s.flags.memory, Compression: s.flags.tableCompression(),
		Now: ttl.SystemClock{}.Now, AcceptDamagedLog: s.flags.acceptDamagedLog}
}

func (s *serveCommandState) storeOptions() store.Options {
	f := &s.flags
	o := store.Options{Clock: ttl.SystemClock{}, Ranges: f.ranges, FirstNumber: s.firstNumber(),
		Lenient:          f.lenient,
		TTLPreviousImage: f.ttlPreviousImage, ContinuousBackup: f.continuousBackup,
		Server:    s.info(),
		QueryTime: f.limits.queryTime, ScriptTime: f.limits.scriptTime,
		Memory: int64(f.limits.memoryInFlight)}
	if !f.memory {
		o.Temp = filepath.Join(f.data, "tmp")
	}
	return o
}

// info returns the description of this server that other servers with the same data can list.
func (s *serveCommandState) info() store.ServerInfo {
	name, err := os.Hostname()
	if err != nil {
		name = "" // it is only shown
	}
	address := s.flags.advertise
	if address == "" {
		port := portOf(s.listeners[0])
		at := s.authority(port)
		if ip := net.ParseIP(s.flags.host); name != "" && ip != nil && ip.IsUnspecified() {
			at = net.JoinHostPort(name, strconv.Itoa(port))
		}
		address = "https://" + at + "/"
	}
	return store.ServerInfo{Name: name, Address: address, Version: version()}
}

func (s *serveCommandState) httpOptions() httpapi.Options {
	f := &s.flags
	return httpapi.Options{Key: f.key, NoAuth: f.noAuth, NoClockCheck: f.noClockCheck, Advertise: f.advertise,
		Hosts: append([]string{f.host}, f.san...), CORSOrigins: f.corsOrigins, AccountID: f.accountID,
		Consistency: f.consistency, Strict: f.strict, ServeCrossPartition: f.serveCrossPartition,
		MaxConnections: product.MaxConnections(f.memory), Throttle: f.throttle, Direct: f.direct,
		SlowQuery: f.signals.slowQuery, Profiles: f.signals.pprof}
}

// certificate returns the options of the TLS certificate: the folder in which it is stored, beside the
// data, and the host names that it covers.
func (s *serveCommandState) certificate() *product.CertificateOptions {
	c := &product.CertificateOptions{Hosts: s.flags.san}
	if ip := net.ParseIP(s.flags.host); ip == nil || !ip.IsUnspecified() {
		c.Hosts = append([]string{s.flags.host}, c.Hosts...)
	}
	if u, err := url.Parse(s.flags.advertise); err == nil && u.Scheme == "https" {
		c.Hosts = append(slices.Clone(c.Hosts), u.Hostname())
	}
	if !s.flags.memory {
		c.Dir = filepath.Join(s.flags.data, "tls")
	}
	return c
}

// openFolder creates the data folder, accessible only to its owner. The rights of an existing folder are the
// user's choice; new files in it are accessible only to the owner in any case.
func (s *serveCommandState) openFolder() error {
	keepFilesPrivate()
	if err := os.MkdirAll(s.flags.data, 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(s.flags.data); err == nil && runtime.GOOS != "windows" &&
		info.Mode().Perm()&0o077 != 0 {
		s.log.Warn("other users of this machine can read the data folder: chmod 700 prevents that",
			"folder", s.flags.data,
			"mode", info.Mode().Perm().String())
	}
	return nil
}

// firstNumber returns the first number for the resource ids of new objects. For data in memory it grows from
// one start of the server to the next, so that a resource id that a client remembers never names another
// object. It starts again every 37 hours, since resource ids of throughputs have only three bytes. For data
// on disk the numbers continue from those in the data.
func (s *serveCommandState) firstNumber() uint32 {
	if !s.flags.memory {
		return 0
	}
	const step, most = 16, 1 << 23 // milliseconds
	return 1 + uint32(ttl.SystemClock{}.Now().UnixMilli()/step%most)
}
