// Package httpapi serves Azure Cosmos DB's REST protocol (gateway mode) over a store, so that the official
// SDKs work against it unchanged. A request passes these files in order:
//
//	listener.go           HTTP or HTTPS, detected by the first byte of the connection; HTTP/1.1 or HTTP/2
//	fast_path_conn.go     queries and single items over HTTP/1.1, without net/http
//	shortcut_*.go         parser and writer of these
//	disconnect_watch.go   cancels these queries when their client disconnects
//	direct.go             direct mode: package rntbd turns frames into requests
//	incoming_request.go   a request of either protocol -> the form that both have in common
//	chain.go              the chain: call, log, recover, CORS; then serve (server.go)
//	route.go              raw path -> targetResource, and links that a client may have signed
//	auth.go               authorization header -> a credential, or 401, 403
//	headers.go            request headers -> typed fields, or 400
//	dispatch.go           target, method and headers -> operation
//	active_request.go     reading the body
//	faults.go             injected faults
//	write.go              the operation's response -> headers and body
//	head.go               headers -> text or net/http's map
//	observe.go            observations of finished requests for metrics and traces
//	profile.go            the profiles of Go's runtime
//	own.go                Mayfly's own API and pages: packages laboratory and explorer
//
// Package cosmos implements the operations, independently of HTTP: this package fills in its Request and
// sends its Answer. Protocol rules that apply to any wire format belong in cosmos, not here.
//
// # Paths
//
// A path is split before it is unescaped, because an id may contain an escaped slash. The router of echo,
// the HTTP framework, cannot do that. Therefore echo has a single route, and this package parses the
// paths. Resources are addressed by name (dbs/shop/colls/carts/docs/7) or by rid
// (dbs/HpxDAA==/colls/HpxDAIt3MtQ=); the form of the first id decides.
//
// # Mayfly's own API
//
// Package laboratory serves Mayfly's own HTTP API under /_mayfly. It registers its routes with a second
// echo router, which is called after the chain. route.go normalizes each path for that router, and own.go
// gives package laboratory the functions by which this server sends all responses. Package hook delivers
// webhooks.
package httpapi
