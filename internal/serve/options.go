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
	// Engine are the options of the engine, whose Logger Open fills in.
	Engine pebble.Options
	// Remote opens an engine to take instead; nil: there is none.
	Remote func(context.Context) (engine.Engine, error)
	// Store are the options of the store, whose Logger Open fills in.
	Store store.Options
	// HTTP are the options of the endpoint. Open fills in DB, Queues, Logger and CertPEM, what comes of
	// Webhooks and Telemetry, and Ready and Faults where they are nil.
	HTTP httpapi.Options
	// Queues adds queues and topics to the store.
	Queues bool
	// Listeners are the ports of HTTP, which the server closes.
	Listeners []net.Listener
	// Seeds are planted in their order before anything is answered.
	Seeds []*seed.Seed
	// KeepSeeded keeps the state after planting as the snapshot that a reset restores.
	KeepSeeded bool
	// Webhooks are the addresses that webhooks may lead to; nil: none are delivered.
	Webhooks *hook.Allow
	// Certificate is the certificate of TLS; nil: the ports answer HTTP alone.
	Certificate *Certificate
	// ServiceBus are the ports of Service Bus; nil: there are none. It needs Queues.
	ServiceBus *ServiceBus
	// Telemetry opens what sends traces and metrics; figures are the store's, for its metrics. It may return
	// nil. nil: none are sent. It is a function, so that a test server does without the libraries for it.
	Telemetry func(ctx context.Context, figures prometheus.Gatherer) (Telemetry, error)
	// Probes answer while the server opens and closes; nil: there are none. The server closes them.
	Probes *probe.Server
	// ExtraThreads raises GOMAXPROCS by the long work of the store, until Close: for a process of its own.
	ExtraThreads bool
	// Requests is how much memory the log of requests may have, in bytes; 0: there is none.
	Requests int64
	// Drain is how long Close waits for requests under way; 0: they are broken off at once.
	Drain time.Duration
}

// Telemetry observes what the server does, and sends it to a collector.
type Telemetry interface {
	// Request observes a request over HTTP or in direct mode that has been answered.
	Request(httpapi.Observation)
	// Message observes an operation on messages over AMQP.
	Message(bus.Observation)
	// Close sends what waits to be sent.
	Close(context.Context) error
}

// Certificate says where the certificate lies, and for whom it is made.
type Certificate struct {
	Dir   string   // "": in memory
	Hosts []string // names and addresses beside those of the machine
}

// ServiceBus are the ports and settings of Service Bus.
type ServiceBus struct {
	Listeners []net.Listener // which the server closes
	Config    *config.Config // entities to have from the start; nil: none
	Access    access.Options // Open fills in Entities

	CrossEntityTransactions bool // lets a transaction concern more than one entity
}
