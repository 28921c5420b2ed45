// Package serve runs the whole product: an engine, the store and the queues on it, their HTTP endpoint,
// Service Bus, webhooks, telemetry and health probes.
//
// Options contains the options of the parts. Open sets those options that connect the parts, such as the
// store of the HTTP endpoint, and opens the parts in the order in which they depend on each other:
//
//	engine ─► store, queues ─► telemetry ─► seeds ─► webhooks ─► certificate ─► HTTP ─► Service Bus
//
// Run serves the listeners until its context ends. Close drains the requests, then closes webhooks and store.
// If a part cannot be opened, Open closes everything opened before, including the listeners of its Options.
package serve
