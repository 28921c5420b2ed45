// Package telemetry sends traces and metrics of a server to a collector of its operator's choice, by
// OpenTelemetry's protocol (OTLP over HTTP). It sends only what the settings say, and only to that collector.
//
//	settings.go   whether and where to: the flag and the standard variables, OTEL_*
//	telemetry.go  the providers of OpenTelemetry, and their end
//	request.go    a request of Cosmos DB's protocol -> a span and measurements
//	message.go    an operation on messages over AMQP -> a span and measurements
//
// A request is reported after the response has been sent (httpapi.ObservedRequest). The span that is made
// then has the start time of the request. If the client has sent the id of a span of its own (traceparent),
// that is the parent. Names are those of OpenTelemetry's conventions for HTTP servers, for Cosmos DB and for
// messaging.
//
// Exporting never delays a request: if a queue is full, further data are dropped.
package telemetry
