// Package rntbd is a server of Cosmos DB's direct mode: the binary protocol that clients speak to the
// replicas of a partition range instead of HTTP. The SDKs for .NET and Java use it by default.
//
//	rntbd.Begins(first)                        a connection's first bytes are those of a frame
//	err := rntbd.Serve(ctx, conn, options)     serves one connection, already decrypted
//
// A connection carries frames in both directions (frame.go). The first frame negotiates the protocol
// (connection context); every other frame is a request or an answer. Up to Options.Most requests are in
// progress at once. Answers may come in any order: each carries the number of its request. Except for the
// body, the contents of a frame are tokens (token.go): an identifier, a type and a value.
//
// # Translation to HTTP
//
// A frame requests the same as an HTTP request to a gateway: the same resource, operation, signature and
// body. Tokens are the binary form of headers whose names and values the protocol defines for HTTP. This
// package therefore only translates. request.go turns a frame into an *http.Request by tables of resources,
// operations and tokens (tables.go). answer.go is the http.ResponseWriter that turns an answer's headers
// into tokens and streams its body. Options.Handler, which serves Cosmos DB over HTTP, does the rest.
//
// Direct mode differs from HTTP in two respects. A request carries the rid of the container in the client's
// cache (see CachedContainer); a client with a stale cache must look the name up again. And every answer
// must have the position of its replica, an LSN and a session token without the range, or the client rejects
// it. If the handler sets no position, the answer repeats the one that the client sent.
//
// # Goroutines
//
// One goroutine reads the frames of a connection. It serves reads of items itself and passes all other
// requests to workers (pool.go), which stay until the connection ends. A read that waits lets another
// goroutine continue to read (turn.go). Answers that are ready at the same time are sent by one write
// (outbox.go).
//
// # Limits
//
// The head of a frame has at most 1 MiB, or 64 KiB until a request on the connection has been authorized.
// Its body has at most Options.MaxBody bytes; a longer body is read to its end and answered with 413. The
// handler reads the body from the connection (payload.go), so that a refused request occupies memory for its
// head only, and for a body of at most 4 KiB that has arrived with it. No request is started while those in
// progress hold a mebibyte (backlog.go). A client has one minute to complete a frame that it has begun, and
// ten seconds to accept each piece of an answer. A connection that is idle for 35 minutes is closed; clients
// are told 30. A frame that cannot be parsed ends its connection, because the start of the next frame cannot
// be found.
//
// # Shutdown
//
// When the context of Serve ends, no more frames are read. Requests in progress are answered, then the
// connection is closed. Clients repeat reads, but not writes, that were lost with a closed connection.
package rntbd
