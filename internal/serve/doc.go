// Package serve is the whole product as one value: an engine, the store and the queues on it, their HTTP
// endpoint, Service Bus, webhooks, telemetry and health probes.
//
// Options are those of the parts. Open fills in what one part needs of another, such as the store of the HTTP
// endpoint, and opens the parts in the order in which they need each other:
//
//	engine ─► store, queues ─► telemetry ─► seeds ─► webhooks ─► certificate ─► HTTP ─► Service Bus
//
// Run serves the listeners until its context ends. Close drains the requests, then closes webhooks and store.
// Open closes what it has opened when a later part fails, the listeners of its Options among them.
package serve
