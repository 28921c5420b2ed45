package main

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/collector"
)

// TestTelemetry checks that a server with --otlp sends a span for each request to an OpenTelemetry
// collector, and sends the remaining ones when it stops.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	b := boot(t, "--memory", "--otlp", c.URL)
	b.makeContainer(t)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"1","pk":"x"}`)
	b.must(t, 409, "POST", "/dbs/db/colls/c/docs", `{"id":"1","pk":"x"}`)
	b.must(t, 201, "POST", "/_mayfly/faults", `{"fault":"429","count":1}`)
	b.must(t, 429, "GET", "/dbs/db/colls/c/docs", "")
	b.must(t, 200, "GET", "/_mayfly/clock", "")
	b.must(t, 200, "GET", "/_mayfly/livez", "")
	b.stop(t)
	names := make(map[string]int)
	for _, s := range c.Spans() {
		names[s.Name]++
	}
	for name, n := range map[string]int{"create_database": 1, "create_container": 1, "create_item c": 2,
		"read_all_items c": 1, "GET Mayfly": 1, "POST Mayfly": 1} {
		if names[name] != n {
			t.Errorf("%d spans %q of %v, want %d", names[name], name, names, n)
		}
	}
	throttled := c.Span("read_all_items c")
	got := collector.Attributes(throttled.GetAttributes())
	if got["http.response.status_code"] != int64(429) || got["mayfly.fault"] != "f1" ||
		got["azure.cosmosdb.response.sub_status_code"] != int64(3200) {
		t.Errorf("%v", got)
	}
	if got := collector.Attributes(c.Span("create_item c").GetAttributes()); got["db.namespace"] != "db" ||
		got["azure.cosmosdb.operation.request_charge"].(float64) <= 0 ||
		len(got["mayfly.activity_id"].(string)) != 36 {
		t.Errorf("%v", got)
	}
	if c.Metric("http.server.request.duration") == nil || c.Metric("mayfly.request.charge") == nil {
		t.Error("there are no metrics")
	}
	// What there is for Prometheus is sent, too.
	points := c.Metric("mayfly_containers").GetGauge().GetDataPoints()
	if len(points) != 1 || points[0].GetAsDouble() != 1 ||
		c.Metric("mayfly_container_purged_items_total") == nil {
		t.Errorf("containers: %v", points)
	}
}

// TestTelemetryByVariables checks that the environment variables of OpenTelemetry (OTEL_...) turn
// telemetry on and configure it, and that `--otlp off` turns it off.
func TestTelemetryByVariables(t *testing.T) {
	c := collector.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=mine")
	t.Setenv("OTEL_SERVICE_NAME", "tests")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	b := boot(t, "--memory")
	b.must(t, 200, "GET", "/dbs", "")
	b.stop(t)
	if c.Span("read_all_databases") == nil || c.Resource()["service.name"] != "tests" ||
		c.Headers()[0].Get("x-tenant") != "mine" || c.Metric("http.server.request.duration") != nil {
		t.Errorf("%v of %v", c.Spans(), c.Resource())
	}
	off := boot(t, "--memory", "--otlp", "off")
	before := len(c.Spans())
	off.must(t, 200, "GET", "/dbs", "")
	off.stop(t)
	if len(c.Spans()) != before {
		t.Error("what is off sends")
	}
	for _, args := range [][]string{{"serve", "--otlp", "nowhere"}, {"serve", "--slow-query", "-1s"}} {
		if code, _, _ := mayfly(t, args...); code != exitUsage {
			t.Errorf("%v: %d", args, code)
		}
	}
}
