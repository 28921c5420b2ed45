// Package rntbd is Cosmos DB's direct mode as a server has it: the binary protocol that clients speak to the
// replicas of a partition range, in place of HTTP. It is the default of the SDKs for .NET and Java.
//
//	rntbd.Begins(first)                        a connection's first bytes are a frame's
//	err := rntbd.Serve(ctx, conn, options)     one connection, which is decrypted already
//
// A connection carries frames both ways (frame.go): the first says which protocol it is (connection context),
// each other one is a request or its answer. Up to Options.Most requests are under way at once, and answers
// come in any order: each has the number that its client gave the request. Whatever a frame has beside its
// body is in tokens (token.go): a number for what it is, a type, a value.
//
// # A frame is a request of the gateway
//
// What a frame asks for is what a request over HTTP asks a gateway for: the same resource, operation,
// signature and body. Tokens are the binary spelling of headers whose names and values the protocol has for
// HTTP. So this package translates and decides nothing: request.go makes a *http.Request of a frame, by one
// table of resources, one of operations and one of tokens (tables.go); answer.go is the http.ResponseWriter
// that turns an answer's headers into tokens and streams its body. A Handler that speaks Cosmos DB over HTTP
// does the rest, without a connection of HTTP's and without its text.
//
// What direct mode knows and HTTP does not is little: the container that a client has in its cache (see
// CachedContainer; a client whose cache is stale looks its name up anew), and what an answer must have for a
// client to believe it. Each answer reports how far its replica is: an LSN, and a session token without the
// range. Where the handler says nothing of it, the answer says what the client knows already.
//
// # Limits
//
// A frame's head has at most 1 MiB, 64 KiB until a request has shown a key; its body Options.MaxBody bytes:
// what is longer is read to its end and answered with 413. The handler reads the body from the connection
// (payload.go), so that a request that it refuses costs its head alone. No request is begun while those
// under way hold a mebibyte (backlog.go). A client has a minute for a frame that it has begun, and ten
// seconds to take each piece of an answer. A connection on which nothing comes for half an hour is closed,
// which clients expect. What cannot be parsed ends its connection: there is no way to find the next frame.
//
// # The end
//
// When the context of Serve ends no frame is read any more; requests that are under way are answered, and
// then the connection is closed. Clients repeat reads that a closed connection has swallowed, but no writes.
package rntbd
