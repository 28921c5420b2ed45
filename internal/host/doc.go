// Package host contains what all kinds of data share. Documents and queues are tenants of one host: they use
// one engine, one clock and one reaper.
//
//	h, err := host.Open(ctx, engine, host.Options{}, documents, queues)
//
// # Host, instance, tenant
//
// A Host is open from Open to Close. It holds one EngineInstance at a time: an engine with its data, and the
// state in memory that belongs to the data. Restore replaces the EngineInstance and keeps the Host. So no
// operation can read from two states of the data: an operation that still holds an EngineInstance replaced by
// Restore fails with engine.ErrClosed on its next engine call.
//
// A Tenant is a kind of data. It declares its TenantKeySpace and is opened in each EngineInstance, where it
// reads its stored data. Its state in the EngineInstance is its OpenedTenant. The host calls the parts of the
// OpenedTenant for operations that concern all tenants: the reaper's rounds, moving a clock, snapshots,
// closing.
//
// # What the host owns
//
//   - The keys that begin with 00 are the catalog. Its first record holds the format, the incarnation, the
//     next free number and the highest LSN of dropped scopes (catalog.go). Records of kind m are the host's,
//     those of other kinds belong to the tenants. One lock orders all changes of the catalog.
//   - The clocks: the server's, and those that a tenant makes for a group of its data. No clock goes back,
//     except by a move that no tenant has refused (clock.go, clock_move.go).
//   - The reaper, one for all tenants, so that they share one pace (reaper.go), and the walk along keys that
//     are ordered by deadline (deadline.go, sweep_pass_position.go).
//   - Snapshots and Restore. After a restore every scope of every tenant continues above the highest LSN that
//     any scope has issued before (snapshot.go, restore.go).
//   - The classes of errors (error_class.go).
//   - Moving an item that expires in one tenant to another tenant in one transaction (expiry_sink.go).
//
// # Several hosts on one engine
//
// The catalog is cached in memory, and its scope's mark counts its changes. If another host has changed the
// catalog, DefinitionCatalog.Lock reads the records again (OpenedTenant.Reload). If another host changes it
// while the lock is held, a CatalogTxn fails with ErrCatalogMoved. For other data that a tenant caches, the
// tenant uses the marks of its own scopes.
//
// If the engine says that other processes may have its data open (engine.SharedEngine), the hosts are servers
// of one set of data:
//
//   - Each has a record, which it renews (membership.go). The background work is divided by leases, which are
//     renewed with it: the reaper's, and those that tenants ask for (lease.go).
//   - The time is that of the PostgreSQL database, if the engine has it (engine.DatabaseTimeReporter; see
//     database_clock.go). The state of a virtual clock is part of the catalog; it changes only while one
//     server runs.
//   - A host follows the catalog, and wakes its tenants' waiting callers when another server has committed
//     something (follow.go).
//
// # Locks, in the order in which they are taken
//
//  1. the host's work lock: one snapshot, restore, copy out of a snapshot, or Close at a time
//  2. the host's restore gate, which only Restore shuts
//  3. the catalog's lock
//  4. the locks by which a tenant keeps its data unchanged. A caller that needs those of several tenants
//     takes them in the order given to Open, and within a tenant in the tenant's own order. A move to an
//     expiry sink follows this order too: see expiry_sink.go.
//  5. scopes of the engine, in byte order (by the engine)
//
// The host imports engine and ttl, and no package above it.
package host
