package serve

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/internal/hook"
	"github.com/mayflydb/mayfly/internal/probe"
	"github.com/mayflydb/mayfly/internal/seed"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp/bus"
	"github.com/mayflydb/mayfly/queue/config"
	"github.com/mayflydb/mayfly/store"
	"github.com/prometheus/client_golang/prometheus"
)

// Options are the parts of a Server and their settings.
type Options struct {
	// Logger is the logger of every part. It must not be nil.
	Logger *slog.Logger
	// Engine are the options of the engine. Open sets their Logger.
	Engine pebble.Options
	// Remote opens an engine that is used in place of Engine. If it is nil, Engine is used.
	Remote func(context.Context) (engine.Engine, error)
	// Store are the options of the store. Open sets their Logger.
	Store store.Options
	// HTTP are the options of the endpoint. Open sets DB, Queues, Logger and CertPEM, the fields that depend
	// on Webhooks and Telemetry, and Ready and Faults if they are nil.
	HTTP httpapi.Options
	// Queues adds queues and topics to the store.
	Queues bool
	// Listeners are the HTTP ports. The server closes them.
	Listeners []net.Listener
	// Seeds are applied in order before any request is answered.
	Seeds []*seed.Seed
	// KeepSeeded stores the state after the seeds were applied as the snapshot that a reset restores.
	KeepSeeded bool
	// Webhooks says which addresses webhooks may have. If it is nil, no webhooks are delivered.
	Webhooks *hook.AllowedAddresses
	// Certificate says where the TLS certificate is stored. If it is nil, the ports use HTTP only.
	Certificate *CertificateOptions
	// ServiceBus contains the Service Bus ports and their settings. If it is nil, there are none. It
	// requires Queues.
	ServiceBus *ServiceBusOptions
	// Telemetry opens the exporter of traces and metrics. figures provides the metrics of the store. If
	// Telemetry is nil or returns nil, nothing is exported. It is a function so that a test server need not
	// link the libraries of the exporter.
	Telemetry func(ctx context.Context, figures prometheus.Gatherer) (Telemetry, error)
	// Probes responds to health probes, also while the server opens and closes. If it is nil, there are
	// none. The server closes it.
	Probes *probe.HealthCheckServer
	// ExtraThreads raises GOMAXPROCS until Close, because the store runs long operations in threads of
	// lower priority. It is for a process that only runs the server.
	ExtraThreads bool
	// Requests is the memory limit of the log of requests, in bytes. If it is 0, there is no log.
	Requests int64
	// Drain is how long Close waits for running requests. If it is 0, Close aborts them at once.
	Drain time.Duration
}

// Telemetry observes the server's operations and sends them to a collector.
type Telemetry interface {
	// Request records a finished request over HTTP or in direct mode.
	Request(httpapi.ObservedRequest)
	// Message records an operation on messages over AMQP.
	Message(bus.ObservedMessageOperation)
	// Close sends the data that are still buffered.
	Close(context.Context) error
}

// CertificateOptions says where the certificate is stored and for which names it is valid.
type CertificateOptions struct {
	Dir   string   // "": in memory
	Hosts []string // names and addresses in addition to those of the machine
}

// ServiceBusOptions are the ports and settings of Service Bus.
type ServiceBusOptions struct {
	Listeners []net.Listener              // closed by the server
	Config    *config.Config              // entities that are created at the start; nil: none
	Access    access.TokenVerifierOptions // Open sets Entities

	CrossEntityTransactions bool // allows a transaction over more than one entity
}
