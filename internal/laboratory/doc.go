// Package laboratory is Mayfly's own API beside the protocol of Azure Cosmos DB. It explains when and why
// items expire, moves the clock, controls the reaper, and manages snapshots. Its paths are under /_mayfly.
//
//	routes*.go   the table: each route has a method, path, summary, request, answer and handler
//	paths.go     common prefixes of paths
//	members.go   parts and members of request structs, in addition to those of package route
//	...          the handlers: a request struct in, an answer struct out
//
// Package route decodes requests into the structs, sends the answers, and generates the OpenAPI document and
// the HTML page from the same structs.
//
// # The wire
//
// The package is mounted on a server, which authorizes requests, reads them and sends answers. Interface
// Wire is what the laboratory requires of that server. The server passes to Register the middleware for
// public routes and for those that need the master key. Handlers are independent of HTTP, unless they stream
// their answer.
//
// A failure is a *fault.Error or a *route.Error. The server answers both like its other errors.
package laboratory
