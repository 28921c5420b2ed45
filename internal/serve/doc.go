// Package serve runs a complete Mayfly server: an engine, the store and the queues on it, their HTTP
// endpoint, Service Bus, webhooks, telemetry and health probes.
//
// Options contains the options of the parts. Open sets the options that connect the parts, such as the store
// of the HTTP endpoint, and opens each part after those that it depends on:
//
//	engine ─► store, queues ─► telemetry ─► seeds ─► webhooks ─► certificate ─► HTTP ─► Service Bus
//
// Run serves the listeners until its context ends. Close waits for running requests, then closes webhooks
// and store. If a part cannot be opened, Open closes everything that it has opened, including the listeners
// in its Options.
package serve
