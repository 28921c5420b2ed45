package laboratory

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// EnclosingHTTPServer is the part of the HTTP server that the laboratory, Mayfly's own HTTP API, uses to read
// requests and to send responses.
type EnclosingHTTPServer interface {
	route.RequestIO
	// Enter sets the container that the request addresses as the owner in the response, and may refuse the
	// request, for instance because the container's throughput is used up. An error ends the request.
	Enter(ec echo.Context, d *store.Database, c *store.Container) error
	// Reserve reserves the memory for a large response before the response is built. It waits until the
	// memory is available. An error ends the request.
	Reserve(ec echo.Context) error
	// Stream sets the headers that every response of the server has. It is called before the first byte of
	// a response whose body is streamed.
	Stream(ec echo.Context)
}

// ErrorResponse is an error in the form in which the server would send it.
type ErrorResponse struct {
	Status, Substatus int // Substatus 0: none
	Message           string
}

// Options configure a Laboratory. Wire, Wall, Classify and Faults are required.
type Options struct {
	Wire EnclosingHTTPServer
	// Wall is the clock of real time, which limits waits. It must not be the clock of the data.
	Wall ttl.Clock
	// Classify returns the response of the server to a request that fails with the given error.
	Classify func(error) ErrorResponse
	// Draining is closed when the server begins to shut down. All waits then end. nil: a shutdown does not
	// end waits.
	Draining <-chan struct{}
	// Trusted reports whether a request for a public route, which needs no key, has the master key.
	// Default: false.
	Trusted func(ec echo.Context) bool
	// Ready checks whether the store works; nil error: it does. Default: always nil.
	Ready func(context.Context) error
	// CertPEM is the server's certificate as PEM text; nil: it has none.
	CertPEM []byte
	// Webhooks returns the state of webhook delivery for the metrics; nil if no webhooks are delivered.
	Webhooks func() []WebhookMetrics
	// CheckWebhook returns an error if the URL of a webhook is not allowed. Default: all URLs are allowed.
	CheckWebhook func(ctx context.Context, url string) error
	// Queues are the queues and topics; nil: there are none.
	Queues *queue.Queues
	// Faults are the fault injection rules. Required.
	Faults *inject.FaultRules
	// Requests is the log of requests; nil: there is none.
	Requests *requestlog.Log
	// ConnectionInfo is the data that clients need to connect; nil: unknown.
	Connection *ConnectionInfo
}

// WebhookMetrics is the state of the delivery to one webhook.
type WebhookMetrics struct {
	Database, Container, URL string
	Delivered                uint64 // number of events that its endpoint has confirmed since the start
	Failures                 int    // number of consecutive failed deliveries
	Refused                  bool   // its address is not allowed
}

// Laboratory serves Mayfly's own API. It starts no goroutine. Its only state is the lock for loading seeds
// and the receivers whose streams are open.
type Laboratory struct {
	opt       Options
	db        *store.DB
	seeding   chan struct{} // semaphore of one, which is held while a seed is loaded
	receivers receiverSet
}

// New creates the Laboratory of a store: the operations of Mayfly's own HTTP API, such as snapshots, clocks,
// reports and faults.
func New(db *store.DB, o Options) *Laboratory {
	return &Laboratory{opt: o, db: db, seeding: make(chan struct{}, 1)}
}

// Wire implements route.HandlerMethodReceiver: it returns the EnclosingHTTPServer of the options.
func (l *Laboratory) Wire() route.RequestIO { return l.opt.Wire }
