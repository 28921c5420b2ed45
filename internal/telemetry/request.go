package telemetry

import (
	"context"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mayflydb/mayfly/httpapi"
)

// seconds holds the bucket boundaries of durations, in seconds: those that OpenTelemetry's conventions
// recommend, and a lower one.
var seconds = metric.WithExplicitBucketBoundaries(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
	0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)

// instruments creates the OpenTelemetry instruments for requests.
func (t *Telemetry) instruments(m metric.Meter) (err error) {
	if t.duration, err = m.Float64Histogram("http.server.request.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of requests in Cosmos DB's protocol."), seconds); err != nil {
		return err
	}
	t.charge, err = m.Float64Counter("mayfly.request.charge", metric.WithUnit("{request_unit}"),
		metric.WithDescription("Request charge of requests, in request units (RU)."))
	return err
}

// untraced holds the paths of health checks and scrapers. They are requested every few seconds and are of no
// interest in traces.
var untraced = map[string]bool{"_mayfly/livez": true, "_mayfly/readyz": true, "_mayfly/metrics": true}

// Request records a finished request: a span, the duration and the charge.
func (t *Telemetry) Request(o httpapi.ObservedRequest) {
	if untraced[o.Own] {
		return
	}
	few := []attribute.KeyValue{attribute.String("http.request.method", method(o.Method)),
		attribute.Int("http.response.status_code", o.Status)}
	name := "mayfly"
	if o.Operation != "" {
		name = o.Operation
		few = append(few, attribute.String("db.operation.name", o.Operation))
	}
	place := places(&o)
	all := append(append(few[:len(few):len(few)], place...),
		attribute.String("mayfly.activity_id", o.Activity))
	if o.Container != "" {
		name += " " + o.Container
	}
	if o.Own != "" {
		name = method(o.Method) + " Mayfly"
		all = append(all, attribute.String("url.path", "/"+o.Own))
	} else {
		all = append(all, attribute.String("db.system.name", "azure.cosmosdb"),
			attribute.String("db.response.status_code", strconv.Itoa(o.Status)),
			attribute.Int("azure.cosmosdb.response.sub_status_code", o.Substatus),
			attribute.Float64("azure.cosmosdb.operation.request_charge", o.Charge))
	}
	if o.Fault != "" {
		all = append(all, attribute.String("mayfly.fault", o.Fault))
	}
	ctx := t.clients.Extract(context.Background(), propagation.HeaderCarrier(o.Header))
	ctx, span := t.tracer.Start(ctx, name, trace.WithTimestamp(o.Began), trace.WithAttributes(all...),
		trace.WithSpanKind(trace.SpanKindServer))
	if o.Status >= http.StatusInternalServerError || o.Status == 0 {
		span.SetStatus(codes.Error, http.StatusText(o.Status))
	}
	span.End(trace.WithTimestamp(o.Ended))
	if o.Status != http.StatusNotFound { // otherwise anybody could create any number of time series
		few = append(few, place...)
	}
	by := metric.WithAttributes(few...)
	t.duration.Record(ctx, o.Ended.Sub(o.Began).Seconds(), by)
	if o.Charge > 0 {
		t.charge.Add(ctx, o.Charge, by)
	}
}

// places returns the attributes for the database and the container of a request.
func places(o *httpapi.ObservedRequest) (list []attribute.KeyValue) {
	if o.Database != "" {
		list = append(list, attribute.String("db.namespace", o.Database))
	}
	if o.Container != "" {
		list = append(list, attribute.String("db.collection.name", o.Container))
	}
	return list
}

// method returns an HTTP method as it is reported: the known methods unchanged, all others as _OTHER, the
// value of OpenTelemetry's conventions.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return m
	}
	return "_OTHER"
}
