// Package store is Mayfly's embedded API: databases of containers of JSON documents that can be mortal.
//
// A document expires by Azure Cosmos DB's rules. Its container has a default time to live, off, never or n
// seconds; a document may carry a ttl of its own. Life is counted in whole seconds of the store's clock from
// the last write, _ts, and a document has expired when _ts + ttl <= now. From that second on it does not
// exist for anybody: reads, lists and queries do not see it, its id and its unique keys are free. A container
// can have its documents' lives counted from a property of theirs instead of _ts (ttlPropertyPath).
//
//	db, err := store.Open(ctx, engine, store.Options{})
//	d, err := db.CreateDatabase(ctx, "app", definition.Throughput{})
//	c, err := d.CreateContainer(ctx, definition.ContainerSpec{ID: "sessions", DefaultTTL: 1800, ...}, definition.Throughput{})
//	item, receipt, err := c.Create(ctx, definition.NewPartitionKey(doc.StringValue("u1")), body, store.WriteOptions{})
//
// # What is promised
//
// A write that has returned is on disk, and nothing that was answered, present or absent, is taken back by a
// crash. A write is whole or not at all. Writes of one partition range are serial, so preconditions and
// unique keys hold without any locking by the caller; a read sees every write that has returned before it
// began.
//
// Expired is final. A changed default acts at once and backwards in time on every document, whatever their
// number, but never brings one back: two floors in the container's policy remember what had expired before
// (see package ttl).
//
// # Expiry and purge
//
// Every read decides by the rule, from the item's header. The reaper only frees the space: it finds what has
// expired in two indexes (by write time, by deadline), judges each item again in the transaction that deletes
// it, and its pace is nobody's concern. Which is why there is a gate in each container: writes and purges
// hold it shared, a change of the policy holds it exclusively, and the moment "now" is fixed inside it.
// Policy and moment are one.
//
// # Settings of Mayfly's own
//
// Beside its ContainerSpec, which is Cosmos DB's, a container has ContainerSettings: what expires can be
// moved to an archive instead of being forgotten (archive.go), the default can be the ceiling of the items'
// own ttl (settings.go), and a container that nobody uses can delete itself (idle.go). A lease keeps one item
// from expiring for a time (lease.go). Nobody who does not ask for them notices.
//
// # Change feeds
//
// Changes reads what has changed behind a position, in the order of the writes in each partition range: the
// latest version of each item, or every version and delete where the container's policy keeps them for a
// while (package store/internal/feed). A page ends where a transaction ends and is durable when it is
// answered, so a reader that stores the page's position misses nothing, through crashes, restarts and splits
// of ranges.
//
// # Expiry events
//
// A container whose settings ask for it keeps a log of its expiries, which Expirations reads: each death
// once, with the item as it was, in the order in which the reaper met the dead (events.go). The reaper itself
// can be paused, delayed and starved per container (reapercontrol.go): purges wait then, events do not, and
// no other reader can tell.
//
// # Looking ahead
//
// ExplainItem reports when one item dies and why, DryRunTTL what a change of the default would do, and
// Forecast what is going to expire (ahead.go); the answers are package store/inspect's. Wait sleeps until an
// item is expired, purged or in the feed (wait.go). A ttl that is valid but odd is written all the same, and
// named in the receipt and by LintCounts (lint.go).
//
// # Scripts
//
// Stored procedures, triggers and user defined functions are JavaScript (package script). Execute runs a
// procedure inside one transaction on one logical partition: it sees what it has written, queries included,
// and leaves all of it or nothing. Triggers, which a write has to name in its options, run in the write's
// transaction. A function runs where a query calls it.
//
// # Throughput and ranges
//
// A container is made with the partition ranges that its throughput needs, and a throughput that is raised
// splits them until there are as many as it needs then (splitter.go). How many those are is on disk with the
// throughput, so that the next process goes on.
//
// # Where it lives
//
// A store is a tenant of a host (package host), which has the engine, the catalog's lock and numbers, the
// clocks, the reaper, snapshots and restore. Open opens a host for documents alone; New makes a store that
// shares one with other tenants. A DB is what callers hold; what it has in one instance of its host is a
// dataset (dataset.go), which a restore replaces, with its databases and containers.
//
// # Several stores on one engine
//
// What a container is lies in memory, in each store that is open over its engine. Its state is counted: by
// the mark of each slot, which a transaction and a read look at, and which comes with positions anyway. Who
// finds another version reads the state anew and begins again (state.go). Databases, containers and what is
// defined in them are counted by the catalog's mark; a change of them is refused where it has moved, and who
// does not find a name asks CatchUp. Not shared are: clocks that are moved while several stores are open, and
// the calls that wait for a change (Wait, long polls of feeds), which one store wakes for its own writes
// alone.
//
// # How it is laid out
//
// operation.go is what a write is: checked by prepare before any lock is taken, carried out by apply in a
// transaction. A single write, a batch (batch.go), a patch (patch.go) and a script are all made of it.
//
// Package store/internal/layout draws every key. tx.go holds the only two functions that write the keys of
// items: put and del. Requests, batches and the reaper call the same two, so an item, its feed entry, its
// deadline and its unique keys cannot part. Which keys an item has is package store/internal/view's to say,
// so that those who only look say the same: Check (store/internal/check) proves that the keys have not
// parted.
//
// The catalog is small, lives in memory whole and changes under one lock, on disk first. Its records are
// package store/internal/record's. Users, permissions, client encryption keys and scripts are a part of it
// (package store/internal/resource).
//
// Errors are *fault.Error, with a Code; package store/internal/classify makes them of the errors of the
// packages below.
package store
