// Package probe responds to the health probes of container platforms on a separate port, which is open from
// before the data are opened until they are closed. The paths are those of the vnext image of Cosmos DB's
// emulator, which uses port 8080:
//
//	GET /alive    200 as long as the process runs
//	GET /ready    200 if requests are served and the store can be written and read, else 503
//	GET /status   the same as /ready
//
// The body is a JSON object. Its member status is alive, starting, ready, failing or stopping; its member
// reason says what fails.
package probe
