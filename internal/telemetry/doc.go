// Package telemetry sends traces and metrics of a server to a collector of its operator's choice, by
// OpenTelemetry's protocol (OTLP over HTTP). It sends nothing that it was not told to, and nothing to anybody
// else.
//
//	settings.go   whether and where to: the flag and the standard variables, OTEL_*
//	telemetry.go  the providers of OpenTelemetry, and their end
//	request.go    a request of Cosmos DB's protocol -> a span and measurements
//	message.go    an operation on messages over AMQP -> the same
//
// A request is told of when it has been answered (httpapi.Observation). A span that is made then begins where
// the request began, below the client's span where the client has named one (traceparent). Names are those of
// OpenTelemetry's conventions for HTTP servers, for Cosmos DB and for messaging.
//
// Exporting never holds up a request: what a queue has no room for is dropped.
package telemetry
