// Package laboratory is Mayfly's own surface, beside the protocol of Azure Cosmos DB: what reports when items
// die and why, moves the clock, holds the reaper back, keeps snapshots. It lies under /_mayfly on the wire.
//
//	routes*.go   the table: each route has a method, path, summary, request, answer and handler
//	paths.go     the beginnings of paths
//	members.go   the parts and kinds of members that request structs have, beside those of package route
//	...          the handlers: a request struct in, an answer struct out
//
// Package route reads requests into the structs, sends the answers, and makes the OpenAPI document and the
// page for people of the same structs.
//
// # The wire
//
// The package is mounted on a server of the protocol, which knows how a request is let in, read and answered.
// Wire is what the laboratory needs of it. The server gives Register the middleware of routes that are open
// to everybody, and that of those which need the master key. Handlers know no HTTP, but for those whose
// answer is a stream.
//
// A failure is a *fault.Error or a *route.Error. The server answers both as it answers all others.
package laboratory
