// Package cosmos carries out the operations of Azure Cosmos DB over a store. An operation is a value: what a
// client asks for is a Request, what becomes of it is an Answer, and neither knows by which protocol it came
// or goes. A wire (package httpapi is the one for HTTP) fills the one, hands both to Service.Serve and writes
// the other.
//
//	kind.go       kinds of resources and operations
//	request.go    what an operation needs: kind, operation, address by name or by rid, typed headers, body
//	answer.go     what it answers: status, typed headers, body
//	status.go     statuses and substatuses
//	service.go    the way of a request: permit, decode, reserve memory, run, fail
//	names.go      kind and operation -> what telemetry calls them
//	dispatch.go   kind and operation -> handler: one table
//	token*.go     a permission's token -> what it grants, and whether that is enough: one table
//	...           the handlers: decode, call the store, encode
//	errors.go     error -> status, substatus, code and body: one table
//	slow.go       the log of slow queries
//	memory.go     the memory that answers take until they are released
//
// No rule of the database lives here. What may be written, what has expired, what a precondition means, which
// key fits: the store says so, and this package says it in Cosmos DB's words. An embedding program can do
// everything that a client can.
//
// # A wire's part
//
// A wire reads who the client is (its signature, or a permission's token, which Tokens opens), the address,
// and the headers, some of whose values have readers here (ParseSessionToken, ParsePartitionKey). It reads
// the body last, where Operation.HasBody says that there may be one, within Kind.MaxBody; Permit tells before
// that whether the client may go on. What it refuses itself it hands to Fail, so that all errors look alike.
//
// # Errors
//
// Everything that fails comes back as an error and is answered in one place, Service.Fail. A fault.Error has
// its place in a table by its Code. Anything that is neither that nor this package's own Error is a defect: a
// 500 whose activity id leads to the line in the log. No error is without a body that clients can take apart;
// some SDKs crash where it is missing.
//
// # Batches
//
// A batch comes as JSON or, from .NET, as a stream of HybridRow rows (hybridrow.go). Both are read into the
// same operations, and the answer has the form of the question. The status is 207 as soon as one operation is
// no success.
//
// # Queries
//
// Items are queried by the store. Databases, containers and offers are few and lie in memory: a query over
// them runs on the text that reading them gives, by the same language, in query.go. Both answer through
// sendResult, with the figures that clients ask for (metrics.go). A client that merges partition ranges
// itself asks for a plan (queryplan.go), or is given one with the refusal of a query that needs it.
package cosmos
