// Package cosmos implements the operations of Azure Cosmos DB over a store, independently of any protocol. A
// Request describes the operation that a client requests, a Response is the response. An implementation of a
// protocol is called a wire; package httpapi is the wire for HTTP. It fills in the Request, passes both to
// Service.Serve and sends the Response.
//
//	kind.go       kinds of resources and operations
//	request.go    input of an operation: kind, operation, address by name or by rid, typed headers, body
//	answer.go     output of an operation: status, typed headers, body
//	status.go     statuses and substatuses
//	service.go    steps of a request: permit, decode, reserve memory, run, fail
//	names.go      kind and operation -> name in telemetry
//	dispatch.go   kind and operation -> handler: one table
//	token*.go     resource tokens -> grants, and the grants that each operation needs: one table
//	...           the handlers: decode, call the store, encode
//	errors.go     error -> status, substatus, code and body: one table
//	slow.go       the log of slow queries
//	memory.go     accounting of the memory that responses hold until they are released
//
// The package contains no rules of the database. The store decides what may be written, what has expired,
// whether a precondition holds and whether a partition key is valid; this package translates the result to
// Cosmos DB's terms. So a program that embeds the store can do everything that a client can.
//
// # Responsibilities of a wire
//
// A wire determines the client's identity (from a signature, or from a resource token, which ResourceTokenIssuer
// opens), the address and the headers. This package has parsers for some header values (ParseSessionToken,
// ParsePartitionKey). The wire reads the body last, if OperationType.HasBody is true, up to ResourceKind.MaxBody bytes.
// Before that it calls Permit to check whether the client may proceed. The wire passes its own errors to
// Fail, so that all errors have the same form.
//
// # Errors
//
// Every failure is returned as an error, and Service.Fail is the only place that converts an error to a
// response. A table maps the Code of a fault.Error. An error that is neither a fault.Error nor this
// package's Error is a bug: the response has the status 500, and the error is logged with the activity id of
// the response. Every error has a body that clients can parse; some SDKs crash without it.
//
// # Batches
//
// A batch arrives as JSON or, from .NET, as a stream of HybridRow rows (hybridrow.go). Both are decoded to
// the same operations, and the response has the same form as the request. The status is 207 if at least one
// operation failed.
//
// # Queries
//
// The store runs queries over items. Databases, containers and offers are few and kept in memory: query.go
// runs queries over them in the same language, on the JSON text that a read returns. Both kinds of queries
// use sendResult for the response, including the metrics that clients ask for (metrics.go). A client that
// merges partition ranges itself asks for a query plan (queryplan.go), or receives one with the error for a
// query that needs it.
package cosmos
