// Package laboratory is Mayfly's own surface, beside the protocol of Azure Cosmos DB: what reports when items
// die and why, moves the clock, holds the reaper back, keeps snapshots. It lies under /_mayfly on the wire.
//
//	routes.go    the table: each route is a row with its method, path, summary, request, answer and handler
//	route.go     what a row is, and how a request goes through it
//	decode.go    path, query string and body -> the row's request struct, or 400
//	members.go   the kinds of members that request structs have
//	openapi.go   the rows -> the OpenAPI document; page.go: the rows -> the page for people
//	...          the handlers: a request struct in, an answer struct out
//
// # One truth
//
// A request struct says what a route takes: its tags json, query, path and header name the members and
// parameters, and minimum, maximum, default and description say what is true of them. The decoder refuses by
// the same tags that the OpenAPI document is made of. A member whose json tag has omitempty may be left out;
// any other is required. An answer struct is what is marshalled and what the document describes. So neither
// can say what the other does not do.
//
// Libraries that make routes and an OpenAPI document of structs were passed over for what they answer by
// themselves: a refusal here has the body of the protocol's own errors, names the members that a route takes,
// and comes in the order of the struct; the charge of a request is told of failures, too. The schemas are
// made by swaggest's library.
//
// The parts of a request struct are read in the order in which they stand there: what a route finds first is
// what it complains about first.
//
// # The wire
//
// The package is mounted on a server of the protocol, which knows how a request is let in, read and answered.
// Wire is what the laboratory needs of it. The server gives Register the middleware of routes that are open
// to everybody, and that of those which need the master key. Handlers know no HTTP, but for those whose
// answer is a stream.
//
// A failure is a *fault.Error or an *Error. The server answers both as it answers all others.
package laboratory
