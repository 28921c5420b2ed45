package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// scope is the name of the library in spans and measurements.
const scope = "github.com/mayflydb/mayfly"

// Telemetry sends traces and metrics. Its methods are safe for concurrent use.
type Telemetry struct {
	tracer  trace.Tracer
	clients propagation.TextMapPropagator

	duration metric.Float64Histogram
	charge   metric.Float64Counter
	took     metric.Float64Histogram // of messages, as is the next one
	messages metric.Int64Counter

	end []func(context.Context) error
}

// Open starts to send telemetry. It returns nil if the settings say that nothing is to be sent. version is
// the version of the server. If data cannot be sent, a warning is logged; OpenTelemetry has one error handler
// for the whole process, which Open sets. figures has the server's Prometheus metrics, which are sent as
// well; it may be nil.
func Open(ctx context.Context, s Settings, version string, figures prometheus.Gatherer,
	log *slog.Logger) (*Telemetry, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	withTraces, notTraces := s.wanted(traces)
	withMetrics, notMetrics := s.wanted(metrics)
	for _, why := range slices.Compact([]string{notTraces, notMetrics}) {
		if why != "" {
			log.Warn("telemetry is not sent", "reason", why)
		}
	}
	if !withTraces && !withMetrics {
		return nil, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("telemetry could not be sent", "error", err)
	}))
	of, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "mayfly"),
			attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	t := &Telemetry{clients: propagation.TraceContext{}}
	meters := metric.MeterProvider(metricnoop.NewMeterProvider())
	t.tracer = tracenoop.NewTracerProvider().Tracer(scope)
	if withTraces {
		err = t.openTraces(ctx, s, of)
	}
	if err == nil && withMetrics {
		meters, err = t.openMetrics(ctx, s, of, figures)
	}
	if err == nil {
		err = t.instruments(meters.Meter(scope))
	}
	if err == nil {
		err = t.messageInstruments(meters.Meter(scope))
	}
	if err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

// openTraces creates the exporter of spans.
func (t *Telemetry) openTraces(ctx context.Context, s Settings, of *resource.Resource) error {
	var o []otlptracehttp.Option
	if address := s.address("/v1/traces"); address != "" {
		o = append(o, otlptracehttp.WithEndpointURL(address))
	}
	exporter, err := otlptracehttp.New(ctx, o...)
	if err != nil {
		return err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(of))
	t.tracer = p.Tracer(scope)
	t.end = append(t.end, p.Shutdown)
	return nil
}

// openMetrics creates the exporter of measurements. It also sends the server's Prometheus metrics (figures).
func (t *Telemetry) openMetrics(ctx context.Context, s Settings, of *resource.Resource,
	figures prometheus.Gatherer) (metric.MeterProvider, error) {
	var o []otlpmetrichttp.Option
	if address := s.address("/v1/metrics"); address != "" {
		o = append(o, otlpmetrichttp.WithEndpointURL(address))
	}
	exporter, err := otlpmetrichttp.New(ctx, o...)
	if err != nil {
		return nil, err
	}
	var with []sdkmetric.PeriodicReaderOption
	if figures != nil {
		with = append(with, sdkmetric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(figures))))
	}
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, with...)),
		sdkmetric.WithResource(of))
	t.end = append(t.end, p.Shutdown)
	return p, nil
}

// Close sends the data that are waiting and stops. ctx limits the time for that.
func (t *Telemetry) Close(ctx context.Context) error {
	var errs []error
	for _, end := range t.end {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}
