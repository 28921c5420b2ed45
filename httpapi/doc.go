// Package httpapi speaks Azure Cosmos DB's REST protocol (gateway mode) over a store, so that the official
// SDKs work against it unchanged. A request goes one way:
//
//	listener.go   HTTP or HTTPS, told apart by the first byte of the connection; each is HTTP/1.1 or HTTP/2
//	server.go     the chain: call, log, recover, CORS; then serve
//	own.go        Mayfly's own surface behind that chain: package laboratory
//	route.go      raw path  -> target: what is addressed, and the links that a client may have signed for it
//	auth.go       authorization header -> let in or 401, 403
//	token*.go     a permission's token -> what it grants, and whether that is enough: one table
//	headers.go    request headers -> typed fields, or 400; session.go and partitionkey.go read the difficult ones
//	dispatch.go   target, method and headers -> handler: one table
//	...           the handlers: decode, call the store, encode
//	call.go       body in, headers and body out
//	errors.go     error -> status, substatus, code and body: one table
//
// No rule of the database lives here. What may be written, what has expired, what a precondition means, which
// key fits: the store says so, and this package says it in Cosmos DB's words. An embedding program can do
// everything that a client can.
//
// # Paths
//
// A path is split before it is unescaped: an id may hold an escaped slash, and some clients do not even
// escape it. Echo's router cannot do that, so that echo has a single route for resources and their paths are
// read here. Resources are addressed by name (dbs/shop/colls/carts/docs/7) or by rid
// (dbs/HpxDAA==/colls/HpxDAIt3MtQ=); the first id tells.
//
// # Errors
//
// Everything that fails comes back as an error and is answered in one place, call.fail. A store.Error has its
// place in a table by its Code. Anything that is neither that nor a wireError nor the laboratory's Error is a
// defect: a 500 whose activity id leads to the line in the log. No answer is without a body that clients can
// take apart, an activity id and a charge; some SDKs crash where one is missing.
//
// # Batches
//
// A batch comes as JSON or, from .NET, as a stream of HybridRow rows (hybridrow.go). Both are read into the
// same operations, and the answer has the form of the question. The status is 207 as soon as one operation is
// no success.
//
// # Mayfly's own surface
//
// What lies under /_mayfly is package laboratory. It registers its routes with a router of echo's that stands
// behind the chain; route.go writes each path the one way in which that router knows it, and own.go gives the
// laboratory what every answer of this server has. Webhooks are delivered by package hook.
//
// # Queries
//
// Items are queried by the store. Databases, containers and offers are few and lie in memory: a query over
// them runs on the text that reading them gives, by the same language, in query.go. Both answer through
// sendResult, with the figures that clients ask for (metrics.go). A client that merges partition ranges
// itself asks for a plan (queryplan.go), or is given one with the refusal of a query that needs it.
package httpapi
