// Package probe answers the health probes of containers on a port of its own, which listens before the data
// are open and until they are closed. The paths are those of the vnext image of Cosmos DB's emulator, which
// has them on port 8080:
//
//	GET /alive    200 as long as the process runs
//	GET /ready    200 where requests are served and the store can be written and read, else 503
//	GET /status   as /ready
//
// The body is a JSON object: status is alive, starting, ready, failing or stopping; reason says what fails.
package probe
