// Package store is Mayfly's embedded API: databases of containers of JSON documents that can expire.
//
// A document expires by Azure Cosmos DB's rules. Its container has a default time to live: off, never or n
// seconds. A document may carry a ttl of its own. Its life is counted in whole seconds of the store's clock
// from its last write, _ts. It has expired when _ts + ttl <= now. From that second on the document no longer
// exists for clients: reads, lists and queries do not return it, and its id and its unique keys are free. A
// container can count the lives of its documents from one of their properties instead of _ts
// (ttlPropertyPath).
//
//	db, err := store.Open(ctx, engine, store.Options{})
//	d, err := db.CreateDatabase(ctx, "app", definition.Throughput{})
//	c, err := d.CreateContainer(ctx, definition.ContainerSpec{ID: "sessions", DefaultTTL: 1800, ...}, definition.Throughput{})
//	pk, err := definition.ParsePartitionKey([]byte(`["u1"]`))
//	item, receipt, err := c.Create(ctx, pk, body, store.WriteOptions{})
//
// Package mayfly in the root of the module is a simpler API over this one; its partition keys are Go values.
//
// # Guarantees
//
// A write that has returned is on disk. A crash never takes back an answer, whether it was an item or its
// absence. A write takes effect as a whole or not at all. Writes of one partition range are serial, so
// preconditions and unique keys hold without any locking by the caller. A read sees every write that has
// returned before it began.
//
// Expiry is final. A changed default applies at once to all existing documents, whatever their number, but
// never revives one that has expired: the container's policy has short lists of records that say what had
// expired before a change (package ttl).
//
// # Expiry and purge
//
// Every read decides by the rule above, from the item's header. An item that has expired but is still stored
// is called a ghost. The reaper purges ghosts, which only frees their space. It finds them in two indexes (by
// write time, by deadline) and checks each item again in the transaction that deletes it. No answer depends
// on how fast it works. After a thousand purges in a range it also deletes the place of the purged items, as
// ranges without keys, in the families whose keys are in the order of time. Iterators skip such a range; they
// would step over the deleted keys one by one.
//
// Each container has a gate, a lock with a shared and an exclusive mode. Writes and purges hold it shared, a
// change of the policy holds it exclusively, and the current moment is read inside it. So every operation
// uses a policy and a moment that belong together.
//
// # Settings of Mayfly's own
//
// Besides its ContainerSpec, which is Cosmos DB's, a container has ContainerSettings. Expired documents can
// be moved to an archive instead of being deleted (archive.go). The default ttl can be the upper limit of the
// items' own ttl (settings.go). A container that nobody uses can delete itself (idle.go). A lease keeps one
// item from expiring for a time (item_lease.go). All of these are off by default.
//
// # Change feeds
//
// Changes returns what has changed after a position, in the order of the writes in each partition range: the
// latest version of each item, or every version and delete if the container's policy keeps them for a while
// (package store/internal/feed). A page ends at the end of a transaction and is durable when it is returned.
// So a reader that stores the page's position misses nothing, through crashes, restarts and splits of ranges.
//
// # Expiry events
//
// A container whose settings ask for it keeps a log of its expiries, which Expirations reads. The log has
// each expiry once, with the item's last version, in the order in which the reaper found the expired items
// (events.go). The reaper itself can be paused, delayed and limited per container (reapercontrol.go). That
// delays purges, but not events, and is invisible to other reads.
//
// # Predictions and diagnosis
//
// ExplainItem reports when one item expires and why, DryRunTTL what a change of the default would do, and
// Forecast which items are going to expire (ahead.go); package store/inspect computes the answers. Wait
// blocks until an item is expired, purged or in the feed (wait.go). A ttl that is valid but unusual is
// accepted, and reported in the receipt and by LintCounts (lint.go).
//
// # Scripts
//
// Stored procedures, triggers and user defined functions are JavaScript (package script). Execute runs a
// procedure inside one transaction on one logical partition: it sees its own writes, also in queries, and
// commits all of them or none. A trigger runs in the transaction of a write that names it in its options. A
// function runs where a query calls it.
//
// # Throughput and ranges
//
// A container is created with the partition ranges that its throughput needs. If the throughput is raised,
// ranges are split until there are as many as it needs then (range_splitter.go). The number of ranges to
// reach is stored with the throughput, so that splitting continues after a restart.
//
// # Host and instances
//
// A store is a tenant of a host (package host), which has the engine, the catalog's lock and numbers, the
// clocks, the reaper, snapshots and restore. Open opens a host for documents alone; New creates a store that
// shares a host with other tenants. Callers hold a DB. Databases and containers belong to a dataset
// (dataset.go), the data of one instance of the host. A restore replaces the dataset and keeps the DB.
//
// # Several stores on one engine
//
// Several servers can have the same engine open. In this package "another server" means another DB over the
// same engine, usually in another process. Each server keeps the state of every container in memory. The
// state has a version, which is stored in the mark of each range. Transactions and reads compare it with the
// version in memory; the engine returns the mark together with the data that an operation reads, so the
// comparison costs no extra read. An operation that finds another version reads the state again and starts
// over (state.go).
//
// The mark of the catalog is the version of databases, containers and the resources in them. A change of the
// catalog is refused if the mark has moved. A caller that does not find a name calls CatchUp.
//
// A virtual clock can be moved only while one server is running. Calls that wait for a change (Wait, long
// polls of feeds) end when any server makes the change: the engine reports the commits of the other servers,
// and in any case each server wakes its waiting calls once a second.
//
// # Structure
//
// Package store/internal/container has the state of a container as plain values. Package
// store/internal/transaction has the two halves of a write: Prepare checks it before any lock is taken, Apply
// carries it out in a transaction. A single write, a batch (batch.go), a patch (patch.go), a script and the
// reaper all use them. So an item, its feed entry, its deadline and its unique keys stay consistent.
//
// Package store/internal/layout encodes every key. Package store/internal/view defines which keys an item
// has, so that readers use the same definition. Check (store/internal/check) verifies the consistency.
//
// The catalog is small and kept in memory as a whole. It changes under one lock, on disk first. Its records
// are defined by package store/internal/record. Users, permissions, client encryption keys and scripts are
// part of it (package store/internal/resource).
//
// Errors are *fault.Error, with a Code. Package store/internal/classify makes them from the errors of the
// packages below.
package store
