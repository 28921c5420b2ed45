package laboratory

import (
	"context"
	"math"
	"net/http"
	"runtime"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
)

// Metrics are collected on each scrape. The path is public, since scrapers cannot sign requests. The metrics
// of single containers contain names, so they are returned only to clients with the master key, or if no key
// is required.

var (
	metricExpiredTotal = desc("expired_items_total",
		"Items that have expired: those purged since the start, and the backlog.")
	metricPurgedTotal = desc("purged_items_total",
		"Expired items that were purged since the start.")
	metricBacklogItems = desc("expiry_backlog_items",
		"Expired items that are not purged yet, counted up to 100,000 per partition key range.")
	metricLagSeconds = desc("expiry_lag_seconds",
		"Seconds since the oldest item of the backlog expired.")
	metricNextExpiry = desc("next_expiry_seconds",
		"Seconds until the next item may expire. Absent if no item will expire.")
	metricDatabases = desc("databases",
		"Number of databases.")
	metricContainers = desc("containers",
		"Number of containers.")
	metricRounds = desc("reaper_rounds_total",
		"Rounds that the reaper has completed.")
	metricReaperErrors = desc("reaper_errors_total",
		"Batches and scans of the reaper that failed.")
	metricReaperPaused = desc("reaper_paused",
		"1 if the reaper is paused, otherwise 0.")
	metricCommits = desc("engine_commits_total",
		"Transactions that the storage engine has committed.")
	metricBarriers = desc("engine_barriers_total",
		"Syncs to durable storage; one sync may cover several transactions.")
	metricGoroutines = desc("goroutines",
		"Goroutines of the server's process.")
	metricStuckScripts = desc("stuck_scripts",
		"Scripts that did not end when they were stopped, and are still running.")

	metricContainerPurged = desc("container_purged_items_total",
		"Expired items that were purged since the start.", perContainer...)
	metricContainerExpired = desc("container_expired_items_total",
		"Items that have expired: those purged since the start, and the backlog.", perContainer...)
	metricContainerBacklog = desc("container_expiry_backlog_items",
		"Expired items that are not purged yet, counted up to 100,000 per partition key range.",
		perContainer...)
	metricContainerLag = desc("container_expiry_lag_seconds",
		"Seconds since the oldest item of the backlog expired.", perContainer...)
	metricContainerNext = desc("container_next_expiry_timestamp_seconds",
		"Time by the container's clock at which the next item may expire. Absent if none will expire.",
		perContainer...)

	metricWebhookDelivered = desc("webhook_delivered_events_total",
		"Expiry events that the endpoint has confirmed since the start.", perWebhook...)
	metricWebhookFailures = desc("webhook_failures",
		"Failed deliveries to the endpoint since its last success.", perWebhook...)
	metricWebhookRefused = desc("webhook_refused",
		"1 if the webhook's address is not allowed, otherwise 0.", perWebhook...)

	metricEntities = desc("entities",
		"Number of queues, topics and subscriptions.")
	metricMessages = desc("messages",
		"Messages in all queues and subscriptions, including dead letters.")
	metricEntityMessages = desc("entity_messages",
		"Messages of a queue, topic or subscription by state: active (visible, locked or deferred), "+
			"scheduled or dead.",
		"entity", "state")
	metricEntityBytes = desc("entity_bytes",
		"Size in bytes of the messages of a queue, topic or subscription.", "entity")

	perWebhook   = []string{"database", "container", "url"}
	perContainer = []string{"database", "container"}
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("mayfly_"+name, help, labels, nil)
}

// metricsCollector reads the store once and returns metrics.
type metricsCollector struct {
	ctx      context.Context
	db       *store.DB
	details  bool                    // include the metrics of each container
	webhooks func() []WebhookMetrics // nil: there are none
	queues   *queue.Queues           // nil: there are none
}

// Figures returns a collector for the metrics of a store, its containers and its queues: those that the
// metrics route returns to a client with the master key, except for webhooks. queues may be nil. A
// collection ends when ctx does.
func Figures(ctx context.Context, db *store.DB, queues *queue.Queues) prometheus.Collector {
	return metricsCollector{ctx: ctx, db: db, details: true, queues: queues}
}

// Describe sends nothing, since the set of metrics depends on the containers.
func (k metricsCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current metrics of the store to out. If they cannot be read, it sends an invalid metric
// with the error. It implements prometheus.Collector.
func (k metricsCollector) Collect(out chan<- prometheus.Metric) {
	m, err := k.db.Metrics(k.ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(metricPurgedTotal, err)
		return
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter(metricExpiredTotal, float64(m.Purged)+float64(m.Backlog.Items))
	counter(metricPurgedTotal, float64(m.Purged))
	gauge(metricBacklogItems, float64(m.Backlog.Items))
	gauge(metricLagSeconds, float64(m.Backlog.Oldest))
	gauge(metricDatabases, float64(m.Databases))
	gauge(metricContainers, float64(len(m.Containers)))
	counter(metricRounds, float64(m.Reaper.Rounds))
	counter(metricReaperErrors, float64(m.Reaper.Errors))
	gauge(metricReaperPaused, flag(m.Reaper.Paused))
	counter(metricCommits, float64(m.Engine.Commits))
	counter(metricBarriers, float64(m.Engine.Barriers))
	gauge(metricGoroutines, float64(runtime.NumGoroutine()))
	gauge(metricStuckScripts, float64(m.StuckScripts))
	k.collectQueues(out)
	next := int64(math.MaxInt64)
	for _, c := range m.Containers {
		if c.NextExpiry > 0 {
			next = min(next, c.NextExpiry-c.Now)
		}
	}
	if next != math.MaxInt64 {
		gauge(metricNextExpiry, float64(next))
	}
	if !k.details {
		return
	}
	if k.webhooks != nil {
		for _, w := range k.webhooks() {
			counter(metricWebhookDelivered, float64(w.Delivered), w.Database, w.Container, w.URL)
			gauge(metricWebhookFailures, float64(w.Failures), w.Database, w.Container, w.URL)
			gauge(metricWebhookRefused, flag(w.Refused), w.Database, w.Container, w.URL)
		}
	}
	for _, c := range m.Containers {
		counter(metricContainerExpired, float64(c.Purged)+float64(c.Backlog.Items), c.Database, c.Container)
		counter(metricContainerPurged, float64(c.Purged), c.Database, c.Container)
		gauge(metricContainerBacklog, float64(c.Backlog.Items), c.Database, c.Container)
		gauge(metricContainerLag, float64(c.Backlog.Oldest), c.Database, c.Container)
		if c.NextExpiry > 0 {
			gauge(metricContainerNext, float64(c.NextExpiry), c.Database, c.Container)
		}
	}
}

// collectQueues reads the queues once and returns metrics.
func (k metricsCollector) collectQueues(out chan<- prometheus.Metric) {
	if k.queues == nil {
		return
	}
	all, err := entitiesIn(k.ctx, k.queues)
	if err != nil {
		out <- prometheus.NewInvalidMetric(metricEntities, err)
		return
	}
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	total := int64(0)
	for _, e := range all {
		dead := e.Counts.DeadLetter + e.Counts.TransferDeadLetter
		total += e.Counts.Active + e.Counts.Scheduled + dead
		if !k.details {
			continue
		}
		gauge(metricEntityMessages, e.Counts.Active, e.Path, "active")
		gauge(metricEntityMessages, e.Counts.Scheduled, e.Path, "scheduled")
		gauge(metricEntityMessages, dead, e.Path, "dead")
		gauge(metricEntityBytes, e.Bytes, e.Path)
	}
	gauge(metricEntities, int64(len(all)))
	gauge(metricMessages, total)
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// metrics responds in the text format of Prometheus, or in another format that the scraper asks for.
func (l *Laboratory) metrics(ec echo.Context, _ *route.NoBody) error {
	details := l.opt.Trusted != nil && l.opt.Trusted(ec)
	registry := prometheus.NewRegistry()
	if err := registry.Register(metricsCollector{ec.Request().Context(), l.db, details,
		l.opt.Webhooks, l.opt.Queues}); err != nil {
		return err
	}
	var page metricsResponseBuffer
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(&page,
		ec.Request())
	if page.status >= http.StatusBadRequest {
		return route.Unavailable("The metrics of the store are not available now.")
	}
	return route.Send(l.opt.Wire, ec, http.StatusOK, &route.TextResponse{
		Kind: page.Header().Get("Content-Type"), Body: page.body})
}

// metricsResponseBuffer is an http.ResponseWriter that buffers what the handler of the Prometheus library
// writes, so that the length of the response is known.
type metricsResponseBuffer struct {
	header http.Header
	status int
	body   []byte
}

func (p *metricsResponseBuffer) Header() http.Header {
	if p.header == nil {
		p.header = make(http.Header)
	}
	return p.header
}

func (p *metricsResponseBuffer) WriteHeader(status int) { p.status = status }

func (p *metricsResponseBuffer) Write(b []byte) (int, error) {
	p.body = append(p.body, b...)
	return len(b), nil
}
