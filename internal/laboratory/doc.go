// Package laboratory implements the laboratory: Mayfly's own HTTP API, under /_mayfly, in addition to the
// protocol of Azure Cosmos DB. It explains when and why items expire, moves the clock, controls the reaper
// (the task that deletes expired items), and manages snapshots.
//
//	routes*.go   the table: each route has a method, path, summary, request, response and handler
//	paths.go     common prefixes of paths
//	members.go   parts and members of request structs, in addition to those of package route
//	...          the handlers: functions from a request struct to a response struct
//
// Package route decodes requests into the structs, sends the responses, and generates the OpenAPI document
// and the HTML page from the same structs.
//
// # The wire
//
// The package is part of a server, which authorizes requests, reads them and sends responses. Interface
// EnclosingHTTPServer contains what the package requires of that server. The server passes to Register the
// middleware for public routes and for those that need the master key. Handlers are independent of HTTP,
// unless they stream their response.
//
// A handler fails with a *fault.Error or a *route.Error. The server converts both to responses like its other
// errors.
package laboratory
