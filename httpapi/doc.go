// Package httpapi speaks Azure Cosmos DB's REST protocol (gateway mode) over a store, so that the official
// SDKs work against it unchanged. A request goes one way:
//
//	listener.go   HTTP or HTTPS, told apart by the first byte of the connection; each is HTTP/1.1 or HTTP/2
//	server.go     the chain: call, log, recover, CORS; then serve
//	route.go      raw path  -> target: what is addressed, and the links that a client may have signed for it
//	auth.go       authorization header -> let in or 401, 403
//	headers.go    request headers -> typed fields, or 400
//	dispatch.go   target, method and headers -> operation
//	call.go       body in
//	faults.go     the faults on demand that the operation meets
//	write.go      the operation's answer -> headers and body
//	direct.go     connections of direct mode: package rntbd makes requests of frames, which go this way
//	observe.go    what became of the request, for whoever measures
//	profile.go    the profiles of Go's runtime
//	own.go        Mayfly's own surface behind the chain: packages laboratory and explorer
//
// The operations themselves are package cosmos's, which knows nothing of HTTP: this package fills its Request
// and writes its Answer. No rule of the protocol that another wire would have to follow lives here.
//
// # Paths
//
// A path is split before it is unescaped: an id may hold an escaped slash. Echo's router cannot do that, so
// that echo has a single route and the paths are read here. Resources are addressed by name
// (dbs/shop/colls/carts/docs/7) or by rid (dbs/HpxDAA==/colls/HpxDAIt3MtQ=); the first id tells.
//
// # Mayfly's own surface
//
// What lies under /_mayfly is package laboratory. It registers its routes with a router of echo's that stands
// behind the chain; route.go writes each path the one way in which that router knows it, and own.go gives the
// laboratory what every answer of this server has. Webhooks are delivered by package hook.
package httpapi
