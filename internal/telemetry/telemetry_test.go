package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/internal/collector"
	"github.com/mayflydb/mayfly/internal/telemetry"
	"github.com/mayflydb/mayfly/queue/amqp/bus"
)

var began = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// variables returns a lookup function for environment variables. pairs are their names and values by
// turns.
func variables(pairs ...string) func(string) string {
	all := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return all[name] }
}

func open(t *testing.T, s telemetry.Settings) *telemetry.Telemetry {
	t.Helper()
	if s.Variable == nil {
		s.Variable = variables()
	}
	o, err := telemetry.Open(t.Context(), s, "1.2.3", nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func end(t *testing.T, o *telemetry.Telemetry) {
	t.Helper()
	if err := o.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestRequest checks that a request becomes a span, with the attributes of OpenTelemetry's conventions and
// the client's span as its parent, and that it is counted in the metrics. Health checks have no span.
func TestRequest(t *testing.T) {
	c := collector.New(t)
	o := open(t, telemetry.Settings{Endpoint: c.URL})
	head := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	o.Request(httpapi.ObservedRequest{Header: head, Method: "POST", Began: began,
		Ended: began.Add(30 * time.Millisecond), Operation: "create_item", Database: "shop",
		Container: "carts", Status: 201, Charge: 6.5, Activity: "a-1"})
	o.Request(httpapi.ObservedRequest{Method: "GET", Began: began, Ended: began.Add(time.Second),
		Operation: "read_item", Database: "shop", Container: "carts", Status: 503, Substatus: 21008,
		Fault: "f1"})
	o.Request(httpapi.ObservedRequest{Method: "BREW", Began: began, Ended: began, Own: "_mayfly/clock",
		Status: 405})
	for _, path := range []string{"_mayfly/livez", "_mayfly/readyz", "_mayfly/metrics"} {
		o.Request(httpapi.ObservedRequest{Method: "GET", Began: began, Ended: began, Own: path, Status: 200})
	}
	end(t, o)

	if n := len(c.Spans()); n != 3 {
		t.Fatalf("%d spans", n)
	}
	s := c.Span("create_item carts")
	if s == nil || s.StartTimeUnixNano != uint64(began.UnixNano()) ||
		s.EndTimeUnixNano-s.StartTimeUnixNano != 30e6 || s.Kind.String() != "SPAN_KIND_SERVER" ||
		string(s.ParentSpanId) != "\xb7\xad\x6b\x71\x69\x20\x33\x31" || s.GetStatus().GetCode() != 0 {
		t.Fatalf("%v", s)
	}
	got := collector.Attributes(s.Attributes)
	for name, want := range map[string]any{"db.system.name": "azure.cosmosdb", "db.namespace": "shop",
		"db.collection.name": "carts", "db.operation.name": "create_item", "db.response.status_code": "201",
		"azure.cosmosdb.response.sub_status_code": int64(0), "azure.cosmosdb.operation.request_charge": 6.5,
		"http.request.method": "POST", "http.response.status_code": int64(201), "mayfly.activity_id": "a-1"} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	failed := c.Span("read_item carts")
	got = collector.Attributes(failed.Attributes)
	if failed.Status.Code != 2 || got["mayfly.fault"] != "f1" ||
		got["azure.cosmosdb.response.sub_status_code"] != int64(21008) {
		t.Errorf("%v", failed)
	}
	if own := c.Span("_OTHER Mayfly"); collector.Attributes(own.Attributes)["url.path"] != "/_mayfly/clock" {
		t.Errorf("%v", own)
	}
	if of := c.Resource(); of["service.name"] != "mayfly" || of["service.version"] != "1.2.3" {
		t.Errorf("%v", of)
	}
	if points := c.Metric("http.server.request.duration").GetHistogram().GetDataPoints(); len(points) != 3 {
		t.Errorf("%v", points)
	}
	charge := c.Metric("mayfly.request.charge").GetSum().GetDataPoints()
	if len(charge) != 1 || charge[0].GetAsDouble() != 6.5 ||
		collector.Attributes(charge[0].Attributes)["db.collection.name"] != "carts" {
		t.Errorf("%v", charge)
	}
}

// TestMetricsOfAbsentContainers checks that requests for containers that do not exist share one metric
// series: a client could name any number of them.
func TestMetricsOfAbsentContainers(t *testing.T) {
	c := collector.New(t)
	o := open(t, telemetry.Settings{Endpoint: c.URL})
	for _, id := range []string{"a", "b", "c"} {
		o.Request(httpapi.ObservedRequest{Method: "GET", Began: began, Ended: began, Operation: "read_item",
			Database: "d", Container: id, Status: 404})
	}
	end(t, o)
	if points := c.Metric("http.server.request.duration").GetHistogram().GetDataPoints(); len(points) != 1 {
		t.Errorf("%d series", len(points))
	}
}

// TestSettings checks that telemetry is sent only if the flag or a standard environment variable names a
// collector or an exporter, and that the value "off" of the flag prevents it.
func TestSettings(t *testing.T) {
	const at = "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		endpoint string
		env      []string
		on, bad  bool
		warns    bool
	}{
		"nothing":       {},
		"the flag":      {endpoint: at, on: true},
		"a variable":    {env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", at}, on: true},
		"one of traces": {env: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", at}, on: true},
		"an exporter":   {env: []string{"OTEL_METRICS_EXPORTER", "otlp"}, on: true},
		"off":           {endpoint: "off", env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", at}},
		"disabled":      {endpoint: at, env: []string{"OTEL_SDK_DISABLED", "true"}},
		"no exporters": {endpoint: at,
			env: []string{"OTEL_TRACES_EXPORTER", "none", "OTEL_METRICS_EXPORTER", "none"}},
		"a name": {env: []string{"OTEL_SERVICE_NAME", "x"}},
		"another protocol": {warns: true, env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", at,
			"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
		"another protocol of traces": {on: true, warns: true, env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", at,
			"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"}},
		"the flag beside another protocol": {endpoint: at, on: true,
			env: []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
		"the right protocol": {on: true, env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", at,
			"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}},
		"a foreign exporter":  {warns: true, env: []string{"OTEL_TRACES_EXPORTER", "jaeger"}},
		"no URL":              {endpoint: "localhost:4318", bad: true},
		"off with a protocol": {endpoint: "off", env: []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
	} {
		s := telemetry.Settings{Endpoint: c.endpoint, Variable: variables(c.env...)}
		if err := s.Validate(); (err != nil) != c.bad {
			t.Errorf("%s: %v", name, err)
		}
		var log bytes.Buffer
		o, err := telemetry.Open(t.Context(), s, "", nil, slog.New(slog.NewTextHandler(&log, nil)))
		if warned := strings.Contains(log.String(), "not sent"); warned != c.warns {
			t.Errorf("%s: log %q", name, log.String())
		}
		if (err != nil) != c.bad || (o != nil) != c.on {
			t.Errorf("%s: %v, %v", name, o, err)
		}
		if o != nil {
			if err := o.Close(t.Context()); err != nil && !c.on {
				t.Errorf("%s: %v", name, errors.Unwrap(err))
			}
		}
	}
}

// TestNoCollector checks that requests do not wait for a collector that cannot be reached, and that Close
// ends with its context.
func TestNoCollector(t *testing.T) {
	o := open(t, telemetry.Settings{Endpoint: "http://127.0.0.1:1"})
	for range 10_000 {
		o.Request(httpapi.ObservedRequest{Method: "GET", Began: began, Ended: began, Status: 200})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Close(ended); err == nil {
		t.Error("nobody was there, and all was sent")
	}
}

// TestMessage checks that an operation on messages becomes a span and is counted in the metrics, and that
// the span of a failed one has the reason.
func TestMessage(t *testing.T) {
	c := collector.New(t)
	o := open(t, telemetry.Settings{Endpoint: c.URL})
	o.Message(bus.ObservedMessageOperation{Operation: "send", Entity: "orders", Messages: 3, Began: began,
		Ended: began.Add(time.Millisecond)})
	o.Message(bus.ObservedMessageOperation{Operation: "settle", Entity: "orders", Messages: 2, Began: began,
		Ended:  began,
		Failed: 1, Condition: "com.microsoft:message-lock-lost"})
	end(t, o)
	got := collector.Attributes(c.Span("send orders").GetAttributes())
	for name, want := range map[string]any{"messaging.system": "servicebus",
		"messaging.operation.name": "send", "messaging.operation.type": "send",
		"messaging.destination.name":    "orders",
		"messaging.batch.message_count": int64(3)} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	s := c.Span("settle orders")
	if got := collector.Attributes(s.GetAttributes()); s.GetStatus().GetCode() != 2 ||
		got["error.type"] != "com.microsoft:message-lock-lost" || got["mayfly.messaging.failed"] != int64(1) {
		t.Errorf("%v", s)
	}
	total := int64(0)
	for _, p := range c.Metric("mayfly.messaging.messages").GetSum().GetDataPoints() {
		total += p.GetAsInt()
	}
	if total != 5 || c.Metric("mayfly.messaging.operation.duration") == nil {
		t.Errorf("%d messages", total)
	}
}
