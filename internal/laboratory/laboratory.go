package laboratory

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/internal/requests"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// Wire is the protocol around the laboratory: what the server gives to every request, whoever answers it.
type Wire interface {
	route.Wire
	// Enter is called with the container that the request is about. Its error ends the request.
	Enter(ec echo.Context, d *store.Database, c *store.Container) error
	// Reserve waits for the memory of a large answer, before that is made. Its error ends the request.
	Reserve(ec echo.Context) error
	// Stream completes the head of an answer whose body is written as it comes.
	Stream(ec echo.Context)
}

// Failure is what the wire makes of an error.
type Failure struct {
	Status, Substatus int // Substatus 0: none
	Message           string
}

// Options connect a Laboratory with its server. Wire, Wall, Classify and Faults are required.
type Options struct {
	Wire Wire
	// Wall tells the real time, by which waits end; never the data's clock.
	Wall ttl.Clock
	// Classify tells of an error how the wire would answer a request that ends with it.
	Classify func(error) Failure
	// Draining is closed when the server begins to shut down: nobody waits any longer. nil: it never does.
	Draining <-chan struct{}
	// Trusted tells of a request for an open route whether it shows the master key all the same. Default:
	// none does.
	Trusted func(ec echo.Context) bool
	// Ready says whether the store works. Default: always.
	Ready func(context.Context) error
	// CertPEM is the server's certificate as PEM text; nil: it has none.
	CertPEM []byte
	// Webhooks reports how the webhooks stand, for the metrics; nil where nobody delivers to any.
	Webhooks func() []WebhookMetrics
	// CheckWebhook reports why a webhook must not be set: where its URL leads is not allowed. Default: any
	// may be.
	CheckWebhook func(ctx context.Context, url string) error
	// Queues are the queues and topics beside the documents; nil: there are none.
	Queues *queue.Queues
	// Faults are the faults on demand. Required.
	Faults *inject.Rules
	// Requests is the log of requests; nil: there is none.
	Requests *requests.Log
	// Connection is what clients need to connect; nil: not known.
	Connection *Connection
}

// WebhookMetrics is how a webhook stands.
type WebhookMetrics struct {
	Database, Container, URL string
	Delivered                uint64 // events that its endpoint has confirmed since the start
	Failures                 int    // of its endpoint, in a row
	Refused                  bool   // it leads to an address that is not allowed
}

// Laboratory answers the requests for Mayfly's own surface. It has no goroutine of its own, and no state but
// who plants a seed, and the receivers whose streams are open.
type Laboratory struct {
	opt       Options
	db        *store.DB
	planting  chan struct{} // holds one while a seed is planted
	receivers receivers
}

// New makes the laboratory of a database.
func New(db *store.DB, o Options) *Laboratory {
	return &Laboratory{opt: o, db: db, planting: make(chan struct{}, 1)}
}

// Wire implements route.Server.
func (l *Laboratory) Wire() route.Wire { return l.opt.Wire }
