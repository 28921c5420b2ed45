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

// Options configure a Deliverer. DB is required; everything else has a default.
type Options struct {
	DB *store.DB
	// Wall is real time, for the pauses after failures; never the data's clock. Default: ttl.Real{}.
	Wall ttl.Clock
	// Logger is told of endpoints that fail and of those that work again. Default: nobody.
	Logger *slog.Logger
	// Timeout bounds one request. Default: 10 seconds.
	Timeout time.Duration
	// Allow says which addresses, beside public ones, webhooks may lead to. Default: none.
	Allow Allow
	// Batch is how many events one request, or one transaction of a queue, has at most. Default: 100.
	Batch int
	// Queues takes the changes of containers whose settings name a queue or a topic. Default: they wait.
	Queues Queues
}

// Queues is where queues and topics are: *queue.Queues.
type Queues interface {
	// Put sends messages of any size, all or none.
	Put(ctx context.Context, path string, list []*message.Message) error
}

// Status is how a webhook stands.
type Status struct {
	Database, Container, URL string
	ChangesTo                string // in the place of URL: the path of the queue or topic that gets changes
	Delivered                uint64 // events confirmed since Open
	Failures                 int    // in a row; 0: the last request was confirmed, or there was none
	Err                      error  // of the last of them
}

// Deliverer sends what expires to the webhooks of a store's containers, and what changes to their queues.
type Deliverer struct {
	o      Options
	client *http.Client
	end    context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	workers map[store.Subscription]*worker
}

// Open starts the delivery. Close must be called before the store is closed.
func Open(o Options) *Deliverer {
	if o.Wall == nil {
		o.Wall = ttl.Real{}
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
	d := &Deliverer{o: o, end: end, workers: make(map[store.Subscription]*worker), client: &http.Client{
		Timeout:       o.Timeout,
		Transport:     newTransport(o.Allow),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	d.done.Go(func() { d.run(ctx) })
	return d
}

// Close breaks off the requests that are under way and waits for the end of all. What was not confirmed is
// sent again by the next Deliverer.
func (d *Deliverer) Close() {
	d.end()
	d.done.Wait()
	d.client.CloseIdleConnections()
}

// Status reports how the webhooks and queues stand, in the order of their names.
func (d *Deliverer) Status() (list []Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.workers {
		list = append(list, w.state())
	}
	slices.SortFunc(list, func(a, b Status) int {
		return strings.Compare(a.Database+"/"+a.Container+" "+a.URL+a.ChangesTo,
			b.Database+"/"+b.Container+" "+b.URL+b.ChangesTo)
	})
	return list
}

// run keeps a worker for each webhook that the settings name.
func (d *Deliverer) run(ctx context.Context) {
	for {
		changed := d.o.DB.SubscriptionsChanged()
		d.follow(ctx, d.o.DB.Subscriptions())
		select {
		case <-changed:
		case <-ctx.Done():
			d.follow(ctx, nil)
			return
		}
	}
}

// follow ends the workers of webhooks that are no more, and then starts those of the new ones: a webhook
// whose secret has changed never has two.
func (d *Deliverer) follow(ctx context.Context, wanted []store.Subscription) {
	d.mu.Lock()
	var gone []*worker
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

func (d *Deliverer) start(ctx context.Context, sub store.Subscription) *worker {
	w := &worker{Deliverer: d, sub: sub, ended: make(chan struct{})}
	ctx, w.end = context.WithCancel(ctx)
	d.done.Go(func() {
		defer close(w.ended)
		if sub.ChangesTo != "" {
			w.runChanges(ctx)
		} else {
			w.run(ctx)
		}
	})
	return w
}
