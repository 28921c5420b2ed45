package laboratory

import (
	"github.com/prometheus/client_golang/prometheus"
)

var (
	metricEntities = desc("entities",
		"Queues, topics and subscriptions.")
	metricMessages = desc("messages",
		"Messages in all of them, dead letters among them.")
	metricEntityMessages = desc("entity_messages",
		"Messages of an entity that are active (visible, locked or deferred), scheduled or dead.", "entity", "state")
	metricEntityBytes = desc("entity_bytes",
		"What the messages of an entity take.", "entity")
)

// collectQueues turns one look at the queues into metrics.
func (k collector) collectQueues(out chan<- prometheus.Metric) {
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
