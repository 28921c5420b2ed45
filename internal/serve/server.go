package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/internal/hook"
	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/internal/probe"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/internal/seed"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/front"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// Server is a complete Mayfly server, from Open until Close.
type Server struct {
	o Options

	db              *store.DB
	queues          *queue.Queues              // nil: there are none
	bus             *front.MultiProtocolServer // nil: there is none
	hooks           *hook.Deliverer            // nil: there are none
	http            *httpapi.Server            // nil until Open has opened it
	telemetry       Telemetry                  // nil: none is sent
	faults          *inject.FaultRules
	requests        *requestlog.Log // nil: there is none
	tls             *tls.Config     // nil: HTTP alone
	probes          *probe.HealthCheckServer
	extraThreads    int
	certificatePath string // "" if the certificate is in memory only
}

// Open opens the parts of the server. No request is answered before Run; a client that connects earlier
// waits. Open takes ownership of the listeners and probes in o: if it fails, it closes them.
func Open(ctx context.Context, o Options) (*Server, error) {
	s := &Server{o: o, probes: o.Probes, requests: requestlog.New(o.Requests)}
	if s.probes == nil {
		s.probes = &probe.HealthCheckServer{}
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) error {
	if err := s.openStore(ctx); err != nil {
		return err
	}
	if s.o.ExtraThreads {
		s.extraThreads = s.db.LongWork()
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + s.extraThreads)
	}
	if err := errors.Join(s.openTelemetry(ctx), s.applySeeds(ctx), s.keepSeeded(ctx)); err != nil {
		return err
	}
	if s.o.Webhooks != nil {
		s.hooks = hook.Open(hook.Options{DB: s.db, Queues: s.queues, Logger: s.o.Logger, Allow: *s.o.Webhooks})
	}
	pem, err := s.openCertificate(ctx)
	if err != nil {
		return err
	}
	if s.http, err = httpapi.New(s.httpOptions(pem)); err != nil {
		return err
	}
	if s.o.ServiceBus != nil {
		s.openServiceBus()
	}
	return nil
}

func (s *Server) openStore(ctx context.Context) error {
	s.o.Engine.Logger, s.o.Store.Logger = s.o.Logger, s.o.Logger
	e, err := s.openEngine(ctx)
	if err != nil {
		return err
	}
	if !s.o.Queues {
		s.db, err = store.Open(ctx, e, s.o.Store)
		return err
	}
	s.queues = queue.New(queue.Options{Logger: s.o.Logger})
	s.db, err = store.Open(ctx, e, s.o.Store, s.queues.Tenant())
	return err
}

func (s *Server) openEngine(ctx context.Context) (engine.Engine, error) {
	if s.o.Remote != nil {
		return s.o.Remote(ctx)
	}
	return pebble.Open(ctx, s.o.Engine)
}

func (s *Server) openTelemetry(ctx context.Context) (err error) {
	if s.o.Telemetry == nil {
		return nil
	}
	figures := prometheus.NewRegistry()
	if err := figures.Register(laboratory.Figures(context.WithoutCancel(ctx), s.db, s.queues)); err != nil {
		return err
	}
	s.telemetry, err = s.o.Telemetry(ctx, figures)
	return err
}

// applySeeds creates the Service Bus entities and applies the seeds. If a seed fails, data on disk are
// restored to their previous state; data in memory are lost with the failed start.
func (s *Server) applySeeds(ctx context.Context) error {
	if bus := s.o.ServiceBus; bus != nil && bus.Config != nil {
		if err := bus.Config.Apply(ctx, s.queues); err != nil {
			return err
		}
	}
	target := seed.ApplyTarget{DB: s.db, Queues: s.queues, Log: s.o.Logger, Undo: !s.o.Engine.Memory,
		Forward: true}
	if s.o.Webhooks != nil {
		target.CheckWebhook = s.o.Webhooks.Check
	}
	for _, planted := range s.o.Seeds {
		if _, err := planted.Apply(ctx, target); err != nil {
			return err
		}
	}
	s.o.Seeds = nil // they contain all documents, whose memory can be freed now
	return nil
}

// keepSeeded creates the snapshot that a reset restores, and replaces that of an earlier start. Without a
// seed it creates none, since an unused snapshot would keep files that the data no longer need.
func (s *Server) keepSeeded(ctx context.Context) error {
	if !s.o.KeepSeeded {
		return nil
	}
	err := s.db.DeleteSnapshot(ctx, laboratory.SeededSnapshot)
	if err != nil && fault.ErrorCode(err) != fault.CodeNotFound {
		return err
	}
	_, err = s.db.Snapshot(ctx, laboratory.SeededSnapshot)
	return err
}

// openCertificate reads or makes the certificate. It is stored beside the data, so that a client need not
// trust a new one after a restart. Servers that share their data use a common certificate authority, which
// is stored with the data.
func (s *Server) openCertificate(ctx context.Context) (pem []byte, err error) {
	if s.o.Certificate == nil {
		return nil, nil
	}
	var shared httpapi.UpdateSharedCertAuthorityFunc
	if s.db.Shared() {
		shared = func(fn func(stored []byte) ([]byte, error)) error { return s.db.ChangeAuthority(ctx, fn) }
	}
	cert, pem, path, err := httpapi.Certificate(s.o.Certificate.Dir, s.o.Certificate.Hosts, shared)
	if err != nil {
		return nil, fmt.Errorf("cannot make the certificate: %w", err)
	}
	s.certificatePath = path
	s.tls = &tls.Config{Certificates: []tls.Certificate{cert}}
	return pem, nil
}

func (s *Server) httpOptions(pem []byte) httpapi.Options {
	o := s.o.HTTP
	o.DB, o.Logger = s.db, s.o.Logger
	if s.queues != nil {
		o.Queues = s.queues
	}
	if o.Ready == nil {
		o.Ready = s.Ready
	}
	if pem != nil {
		o.CertPEM = pem
	}
	if o.Faults == nil {
		o.Faults = inject.New(s.db.Now)
	}
	s.faults, o.Requests, o.Connection = o.Faults, s.requests, s.connection()
	if s.telemetry != nil {
		o.Observe = s.telemetry.Request
	}
	if s.hooks != nil {
		o.Webhooks, o.CheckWebhook = s.webhooks, s.o.Webhooks.Check
	}
	return o
}

// webhooks returns metrics about the delivery of webhooks.
func (s *Server) webhooks() []laboratory.WebhookMetrics {
	var list []laboratory.WebhookMetrics
	for _, w := range s.hooks.Status() {
		if w.ChangesTo != "" {
			continue
		}
		var address *hook.DisallowedAddressError
		list = append(list, laboratory.WebhookMetrics{Database: w.Database, Container: w.Container,
			URL: w.URL, Delivered: w.Delivered,
			Failures: w.Failures, Refused: errors.As(w.Err, &address)})
	}
	return list
}

// Ready returns an error unless the store can be written and read, including the disk.
func (s *Server) Ready(ctx context.Context) error { return s.db.Ready(ctx) }

// DB returns the store.
func (s *Server) DB() *store.DB { return s.db }

// Faults returns the fault rules.
func (s *Server) Faults() *inject.FaultRules { return s.faults }

// Addr returns the address of the first listener.
func (s *Server) Addr() net.Addr { return s.o.Listeners[0].Addr() }

// CertificatePath returns the file of the certificate, or "" if it is in memory only.
func (s *Server) CertificatePath() string { return s.certificatePath }
