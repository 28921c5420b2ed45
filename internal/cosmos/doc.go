// Package cosmos implements the operations of Azure Cosmos DB over a store, independently of any protocol. A
// Request describes the operation that a client asks for, an Answer its result. An implementation of a
// protocol, called a wire (package httpapi is the one for HTTP), fills the Request, passes both to
// Service.Serve and writes the Answer.
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
//	memory.go     accounting of the memory that answers hold until they are released
//
// The package contains no rules of the database. The store decides what may be written, what has expired,
// whether a precondition holds and which key fits; this package translates the result to Cosmos DB's terms.
// A program that embeds the store can do everything that a client can.
//
// # Responsibilities of a wire
//
// A wire determines the client's identity (from a signature, or from a resource token, which Tokens opens),
// the address and the headers. This package has parsers for some header values (ParseSessionToken,
// ParsePartitionKey). The wire reads the body last, if Operation.HasBody is true, up to Kind.MaxBody bytes.
// Before that it calls Permit to check whether the client may proceed. Errors found by the wire itself go
// through Fail, so that all errors have the same form.
//
// # Errors
//
// Every failure is returned as an error and answered in one place, Service.Fail. A fault.Error is mapped by
// its Code in a table. An error that is neither a fault.Error nor this package's Error is a defect: it is
// answered with 500 and logged under the activity id of the answer. Every error has a body that clients can
// parse; some SDKs crash without it.
//
// # Batches
//
// A batch arrives as JSON or, from .NET, as a stream of HybridRow rows (hybridrow.go). Both are decoded to
// the same operations, and the answer has the same form as the request. The status is 207 if at least one
// operation failed.
//
// # Queries
//
// The store runs queries over items. Databases, containers and offers are few and kept in memory: query.go
// runs queries over them in the same language, on the JSON text that a read returns. Both kinds answer
// through sendResult, including the metrics that clients ask for (metrics.go). A client that merges
// partition ranges itself asks for a query plan (queryplan.go), or receives one with the error for a query
// that needs it.
package cosmos
