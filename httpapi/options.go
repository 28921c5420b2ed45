package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/inject"
	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configure a Server. DB is required; everything else has a default.
type Options struct {
	DB *store.DB
	// Queues are the queues and topics that Mayfly's own API shows; nil: there are none.
	Queues *queue.Queues
	// Key is the master key in base64. Default: EmulatorKey.
	Key string
	// NoAuth disables authorization.
	NoAuth bool
	// NoClockCheck disables the check of the dates of signatures and tokens.
	NoClockCheck bool
	// Advertise is the URL that GET / tells clients to use. Default: the scheme and host of the request.
	Advertise string
	// Hosts are additional names and addresses that the server answers to, besides those of its machine and
	// of Advertise. Requests for any other Host are refused with 403. *.example.com stands for every name
	// one level below; 0.0.0.0 or :: stands for every address, but no name.
	Hosts []string
	// CORSOrigins are additional origins (https://page.example) whose pages may use the server from a
	// browser, besides its own and those of loopback addresses; * stands for every origin. Writes from other
	// origins are refused with 403.
	CORSOrigins []string
	// AccountID is the account's id. Default: "mayfly".
	AccountID string
	// Consistency is the account's default consistency level. Default: "Session".
	Consistency string
	// ServeCrossPartition makes the server merge the results of queries over all partition keys, which
	// Cosmos DB's gateway leaves to the client. The header x-mayfly-serve-cross-partition does this for a
	// single request.
	ServeCrossPartition bool
	// Throttle refuses requests beyond a container's throughput with 429.
	Throttle bool
	// Strict refuses unknown properties of a container with 400 instead of ignoring them.
	Strict bool
	// Direct serves clients in direct mode (RNTBD), on the same port inside of TLS; GET /addresses returns
	// the server's address. Without it, GET /addresses fails with an error that recommends gateway mode.
	Direct bool
	// SlowQuery is the minimum duration of a page of a query that is logged together with its plan; 0: none
	// is logged. If it is set, all queries are measured in detail.
	SlowQuery time.Duration
	// CertPEM is the certificate to be offered for download, as PEM text.
	CertPEM []byte
	// Connection is the connection data that the explorer shows; nil: unknown.
	Connection *laboratory.ConnectionInfo
	// Wall is the clock of real time, with which the dates of signatures are compared. It must not be the
	// clock of the data, which can be moved. Default: ttl.SystemClock{}.
	Wall ttl.Clock
	// Ready checks whether the store works, for GET /_mayfly/readyz, and returns nil if it does. If Ready
	// is nil, the store counts as working.
	Ready func(context.Context) error
	// Webhooks returns the state of webhook delivery for the metrics; nil if no webhooks are delivered.
	Webhooks func() []laboratory.WebhookMetrics
	// MaxConnections is the maximum number of open connections; 0: no limit. At the limit, a new connection
	// replaces the one that has been idle for longest, or waits if none is idle.
	MaxConnections int
	// CheckWebhook returns an error if the URL of a webhook is not allowed. Default: all URLs are allowed.
	CheckWebhook func(ctx context.Context, url string) error
	// Faults are the fault injection rules. By default the server has an empty set of its own, whose times
	// are those of the data's clock.
	Faults *inject.FaultRules
	// Profiles serves the profiles of Go's runtime under /debug/pprof to clients with the key.
	Profiles bool
	// Observe is called after the response to each request has been sent; nil: not called.
	Observe func(ObservedRequest)
	// Requests is the log to which each request is added; nil: there is none.
	Requests *requestlog.Log
	// Logger receives bugs (error), disk problems and slow queries (warn), and every request (debug).
	// Default: nothing is logged.
	Logger *slog.Logger
}

// withDefaults returns the options with all defaults filled in, or an error if they are invalid.
func (o Options) withDefaults() (Options, error) {
	if o.DB == nil {
		return o, errors.New("httpapi: Options.DB is missing")
	}
	if o.Key == "" {
		o.Key = EmulatorKey
	}
	if o.AccountID == "" {
		o.AccountID = "mayfly"
	}
	if o.Wall == nil {
		o.Wall = ttl.SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Faults == nil {
		o.Faults = inject.New(o.DB.Now)
	}
	if o.Consistency == "" {
		o.Consistency = "Session"
	}
	level, ok := cosmos.ParseConsistency(o.Consistency)
	if !ok {
		return o, errors.New("httpapi: the consistency level '" + o.Consistency +
			"' is not one of Strong, BoundedStaleness, Session, ConsistentPrefix, Eventual")
	}
	o.Consistency = level.String()
	if o.Advertise != "" {
		u, err := url.Parse(o.Advertise)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return o, errors.New("httpapi: the advertised address '" + o.Advertise +
				"' is not an http or https URL")
		}
		o.Advertise = strings.TrimRight(o.Advertise, "/") + "/"
	}
	return o, nil
}
