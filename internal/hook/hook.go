package hook

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// Options configures a Deliverer. DB is required; everything else has a default.
type Options struct {
	DB *store.DB
	// Wall is the real time for pauses after failures, not the data's clock. Default: ttl.SystemClock{}.
	Wall ttl.Clock
	// Logger logs failures and recoveries of endpoints. Default: discard.
	Logger *slog.Logger
	// Timeout is the time limit of one request. Default: 10 seconds.
	Timeout time.Duration
	// Allow is the set of non-public addresses that webhooks may use. Default: none.
	Allow AllowedAddresses
	// Batch is the maximum number of events in one request or queue transaction. Default: 100.
	Batch int
	// Queues receives the changes of containers whose settings name a queue or a topic. Default: changes
	// are not sent and stay in the feed.
	Queues QueueSender
}

// QueueSender sends messages to queues and topics: *queue.Queues.
type QueueSender interface {
	// Put sends messages, each of any size. It sends all of them or none.
	Put(ctx context.Context, path string, list []*message.Message) error
}

// DeliveryStatus is the state of the delivery to a webhook or queue.
type DeliveryStatus struct {
	Database, Container, URL string
	ChangesTo                string // instead of URL: the path of the queue or topic that receives changes
	Delivered                uint64 // events confirmed since Open
	Failures                 int    // consecutive; 0: the last request succeeded, or there was none
	Err                      error  // the last failure
}

// Deliverer sends expiry events to the webhooks of a store's containers, and changes to their queues.
type Deliverer struct {
	o      Options
	client *http.Client
	end    context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	workers map[store.EventDestination]*deliveryWorker
}

// Open starts a Deliverer, which sends the expiry events and changes of a store's containers to webhooks and
// queues. Close must be called before the store is closed.
func Open(o Options) *Deliverer {
	if o.Wall == nil {
		o.Wall = ttl.SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Batch <= 0 {
		o.Batch = 100
	}
	ctx, end := context.WithCancel(context.Background())
	d := &Deliverer{o: o, end: end, workers: make(map[store.EventDestination]*deliveryWorker),
		client: &http.Client{
			Timeout:       o.Timeout,
			Transport:     newTransport(o.Allow),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}
	d.done.Go(func() { d.run(ctx) })
	return d
}

// Close aborts running requests and waits for all goroutines. Unconfirmed events are sent again by the next
// Deliverer.
func (d *Deliverer) Close() {
	d.end()
	d.done.Wait()
	d.client.CloseIdleConnections()
}

// Status returns the states of the deliveries to webhooks and queues, sorted by database, container
// and target.
func (d *Deliverer) Status() (list []DeliveryStatus) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.workers {
		list = append(list, w.state())
	}
	slices.SortFunc(list, func(a, b DeliveryStatus) int {
		return strings.Compare(a.Database+"/"+a.Container+" "+a.URL+a.ChangesTo,
			b.Database+"/"+b.Container+" "+b.URL+b.ChangesTo)
	})
	return list
}

// run keeps one worker for each webhook and queue in the settings.
func (d *Deliverer) run(ctx context.Context) {
	for {
		changed := d.o.DB.CatalogChanged()
		d.follow(ctx, d.o.DB.Subscriptions())
		select {
		case <-changed:
		case <-ctx.Done():
			d.follow(ctx, nil)
			return
		}
	}
}

// follow ends the workers of removed subscriptions, and then starts those of new ones. A webhook whose
// secret has changed therefore never has two workers at a time.
func (d *Deliverer) follow(ctx context.Context, wanted []store.EventDestination) {
	d.mu.Lock()
	var gone []*deliveryWorker
	for sub, w := range d.workers {
		if !slices.Contains(wanted, sub) {
			gone = append(gone, w)
			delete(d.workers, sub)
		}
	}
	d.mu.Unlock()
	for _, w := range gone {
		w.end()
	}
	for _, w := range gone {
		<-w.ended
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, sub := range wanted {
		if d.workers[sub] == nil && (sub.ChangesTo == "" || d.o.Queues != nil) {
			d.workers[sub] = d.start(ctx, sub)
		}
	}
}

func (d *Deliverer) start(ctx context.Context, sub store.EventDestination) *deliveryWorker {
	w := &deliveryWorker{Deliverer: d, sub: sub, ended: make(chan struct{})}
	ctx, w.end = context.WithCancel(ctx)
	d.done.Go(func() {
		defer close(w.ended)
		deliver := w.run
		if sub.ChangesTo != "" {
			deliver = w.runChanges
		}
		sub.WhileDelivering(ctx, deliver)
	})
	return w
}
