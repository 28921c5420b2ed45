// Package rntbd implements the server side of RNTBD, the binary protocol of Cosmos DB's direct mode, which
// clients use in place of HTTP to access the replicas of a partition range. The SDKs for .NET and Java use it
// by default.
//
//	rntbd.Begins(first)                        reports whether a connection begins with a frame
//	err := rntbd.Serve(ctx, conn, options)     serves one connection, already decrypted
//
// A connection carries frames in both directions (frame.go). The first frame negotiates the protocol
// (connection context); every other frame is a request or a response. Up to Options.Most requests are in
// progress at the same time. Responses may come in any order: each contains the number of its request. Except
// for the body, the contents of a frame are tokens (token.go): an identifier, a type and a value.
//
// # Translation to HTTP
//
// A frame corresponds to an HTTP request to a gateway, with the same resource, operation, signature and body.
// Tokens are the binary form of headers whose names and values the protocol defines for HTTP. This package
// therefore only translates. request.go converts a frame to a Request, with tables of resources, operations
// and tokens (tables.go). Options.Handler serves the request. answer.go converts the values in the
// ResponseHead of its response to tokens. Frames are pooled with their requests and responses.
//
// Direct mode differs from HTTP in two respects. First, a request contains the rid that the client has cached
// for the container's name (Request.CachedContainer). If the rid is out of date, the client must look the
// name up again. Second, every response must contain the position of its replica (an LSN, and a session token
// without the range), or the client refuses it. If the handler sets no position, the response repeats the one
// that the client sent.
//
// # Goroutines
//
// One goroutine reads the frames of a connection. It serves reads of items itself and passes all other
// requests to workers (worker_pool.go), goroutines that exist until the connection ends. If a read of an item
// has to wait, another goroutine continues to read frames (reader_turn.go). Responses that are ready at the
// same time are sent by one write (response_queue.go).
//
// # Limits
//
// The head of a frame has at most 1 MiB, or 64 KiB until a request on the connection has been authorized. Its
// body has at most Options.MaxBody bytes; a longer body is read to its end, and the response has the status
// 413. The handler reads the body from the connection (payload.go), so that a refused request occupies memory
// only for its head, and for a body of at most 4 KiB that has arrived with it. Until a request has been
// authorized, requests are served one after the other. No request is started while those in progress hold 1
// MiB or more (request_backlog.go). A client has one minute to complete a frame that it has begun, and ten
// seconds to accept each piece of a response. A connection that is idle for 35 minutes is closed; the time
// announced to clients is 30 minutes. A frame that cannot be parsed ends its connection, because the start of
// the next frame cannot be found.
//
// # Shutdown
//
// When the context of Serve ends, no more frames are read. The responses to requests in progress are sent,
// then the connection is closed. If a connection is closed before a response, clients repeat the request if
// it is a read, but not if it is a write.
package rntbd
