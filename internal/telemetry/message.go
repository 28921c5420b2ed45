package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/mayflydb/mayfly/queue/amqp/bus"
)

// messageInstruments creates the OpenTelemetry instruments for operations on messages.
func (t *Telemetry) messageInstruments(m metric.Meter) (err error) {
	if t.took, err = m.Float64Histogram("mayfly.messaging.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of operations on messages; one operation may concern several "+
			"messages."),
		seconds); err != nil {
		return err
	}
	t.messages, err = m.Int64Counter("mayfly.messaging.messages", metric.WithUnit("{message}"),
		metric.WithDescription("Number of messages that were sent, received or settled."))
	return err
}

// operationTypes maps operations to their names in OpenTelemetry's conventions for messaging.
var operationTypes = map[string]string{"send": "send", "receive": "receive", "settle": "settle"}

// Message records an operation on messages over AMQP: a span, the duration and the number of messages.
func (t *Telemetry) Message(o bus.ObservedMessageOperation) {
	few := []attribute.KeyValue{attribute.String("messaging.system", "servicebus"),
		attribute.String("messaging.operation.name", o.Operation),
		attribute.String("messaging.destination.name", o.Entity)}
	if kind := operationTypes[o.Operation]; kind != "" {
		few = append(few, attribute.String("messaging.operation.type", kind))
	}
	if o.Failed > 0 {
		few = append(few, attribute.String("error.type", o.Condition))
	}
	all := append(few[:len(few):len(few)], attribute.Int("messaging.batch.message_count", o.Messages),
		attribute.Int("mayfly.messaging.failed", o.Failed))
	ctx, span := t.tracer.Start(context.Background(), o.Operation+" "+o.Entity, trace.WithTimestamp(o.Began),
		trace.WithAttributes(all...), trace.WithSpanKind(trace.SpanKindServer))
	if o.Failed > 0 {
		span.SetStatus(codes.Error, o.Condition)
	}
	span.End(trace.WithTimestamp(o.Ended))
	by := metric.WithAttributes(few...)
	t.took.Record(ctx, o.Ended.Sub(o.Began).Seconds(), by)
	t.messages.Add(ctx, int64(o.Messages), by)
}
