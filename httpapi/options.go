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
	"github.com/mayflydb/mayfly/internal/requests"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// Options say how a Server answers. DB is required; everything else has a default.
type Options struct {
	DB *store.DB
	// Queues are the queues and topics beside the documents, for the laboratory; nil: there are none.
	Queues *queue.Queues
	// Key is the master key in base64. Default: EmulatorKey.
	Key string
	// NoAuth lets every request in.
	NoAuth bool
	// NoClockCheck accepts signatures (and tokens) of any date.
	NoClockCheck bool
	// Advertise is the URL that GET / tells clients to use. Default: the scheme and host of the request.
	Advertise string
	// Hosts are names and addresses, beside those of its own machine and Advertise's, that the server answers
	// to: a request for another Host is refused with 403. *.example.com is every name one level below;
	// 0.0.0.0 or :: every address, but no name.
	Hosts []string
	// CORSOrigins are origins (https://page.example) whose pages may use the server from a browser, beside
	// its own and those of the loopback addresses; * is every one. The writes of pages from elsewhere are
	// refused with 403.
	CORSOrigins []string
	// AccountID is the account's id. Default: "mayfly".
	AccountID string
	// Consistency is the account's default consistency level. Default: "Session".
	Consistency string
	// ServeCrossPartition answers queries over all partition keys whose results must be merged, which a
	// gateway of Cosmos DB leaves to the client. The header x-mayfly-serve-cross-partition does so for one
	// request.
	ServeCrossPartition bool
	// Throttle refuses requests beyond a container's throughput with 429.
	Throttle bool
	// Strict refuses unknown properties of a container with 400 instead of ignoring them.
	Strict bool
	// Direct serves clients in direct mode (RNTBD), on the same port inside of TLS: GET /addresses leads them
	// there. Without it they are refused, and told to use the gateway mode.
	Direct bool
	// SlowQuery is how long a page of a query may take before the log tells of it, with its plan; 0: any
	// time. All queries are measured then, part by part.
	SlowQuery time.Duration
	// CertPEM is the certificate to hand out, as PEM text.
	CertPEM []byte
	// Wall tells the real time, against which the dates of signatures are checked; never the data's clock.
	// Default: ttl.Real{}.
	Wall ttl.Clock
	// Ready says whether the store works (GET /_mayfly/readyz). Default: always.
	Ready func(context.Context) error
	// Webhooks reports how the webhooks stand, for the metrics; nil where nobody delivers to any.
	Webhooks func() []laboratory.WebhookMetrics
	// MaxConnections is how many connections may be open at once; 0: any number. Where there are more, those
	// that have been idle for longest are closed for new ones, and new ones wait where none is idle.
	MaxConnections int
	// CheckWebhook reports why a webhook must not be set: where its URL leads is not allowed. Default: any
	// may be.
	CheckWebhook func(ctx context.Context, url string) error
	// Faults are the faults on demand. Default: a list of the server's own, whose time is the data's.
	Faults *inject.Rules
	// Profiles lets those who have the key read the profiles of Go's runtime, under /debug/pprof.
	Profiles bool
	// Observe is told of each request when it has been answered; nil: nobody asks.
	Observe func(Observation)
	// Requests is the log of requests that every request is added to; nil: there is none.
	Requests *requests.Log
	// Logger gets defects (error), trouble with the disk and slow queries (warn), and every request (debug).
	// Default: none.
	Logger *slog.Logger
}

// withDefaults returns the options with every default filled in, or what is wrong with them.
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
		o.Wall = ttl.Real{}
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
