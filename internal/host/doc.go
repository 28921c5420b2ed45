// Package host is the floor that every kind of data stands on: documents, queues and what comes later are
// tenants of one host, on one engine, under one clock, with one reaper.
//
//	h, err := host.Open(ctx, engine, host.Options{}, documents, queues)
//
// # Host, instance, tenant
//
// A Host is open from Open to Close. It holds one Instance at a time: an engine with its data, and whatever
// is known of that in memory. Restore replaces the Instance and leaves the Host where it is. So no operation
// can read of two states of the data: an operation that still holds an Instance replaced by Restore fails
// with engine.ErrClosed on its next engine call.
//
// A Tenant is a kind of data. It names its KeySpace, and is opened in each Instance: it reads what it has
// stored there. What it has in the Instance from then on is its OpenTenant, whose parts the host
// calls for what concerns all tenants at once: the reaper's rounds, moving a clock, snapshots, closing.
//
// # What the host owns
//
//   - The keys that begin with 00 are the catalog. Its first record holds the format, the incarnation, the
//     next free number and the highest LSN of what is gone (catalog.go). Records of kind m are the host's,
//     those of other kinds are their tenants'. One lock orders all changes of the catalog.
//   - The clocks: the server's, and those that a tenant makes for a group of its data. None of them ever
//     falls, but for a move back that no tenant has refused (clock.go, clock_move.go).
//   - The reaper, one for all tenants, so that they share one pace (reaper.go). How to walk along keys that
//     are ordered by their deadlines is here, too (deadline.go, pass.go).
//   - Snapshots, and going back to one: every scope of every tenant goes on above the highest LSN that any of
//     them has issued before (snapshot.go, restore.go).
//   - The classes of errors (class.go).
//   - The way in which an item that expires in one tenant is moved to another in one transaction
//     (expiry_sink.go).
//
// # Several hosts on one engine
//
// The catalog is in memory, and its scope's mark counts its changes. Catalog.Lock reads the records anew
// where another host has made some (OpenTenant.Reread), and a Change fails with ErrCatalogMoved where one
// comes between. What a tenant keeps in memory beside the catalog is its own affair, for which it has the
// marks of its scopes.
//
// # Locks, in the order in which they are taken
//
//  1. the host's work: one snapshot, restore, copy out of a snapshot, or Close at a time
//  2. the host's gate of restores, shut by Restore alone
//  3. the catalog's lock
//  4. what a tenant takes to keep its data still. Whoever needs that of several tenants takes it in the order
//     that Open was given; inside a tenant in its own order. A move to an expiry sink is no exception: see
//     expiry_sink.go.
//  5. scopes of the engine, in byte order (the engine's doing)
//
// The host imports engine and ttl, and nothing that stands on it.
package host
