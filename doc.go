// Package mayfly is a document store inside a Go program: JSON documents that expire, exact to the second,
// and queues of messages that do.
//
//	db, err := mayfly.Open("data")
//	defer db.Close()
//	sessions, err := db.Container(ctx, "app/sessions", mayfly.PartitionBy("/user"), mayfly.DefaultTTL(30*time.Minute))
//
//	_, err = sessions.Upsert(ctx, Session{ID: "s1", User: "ada"})
//	s, err := mayfly.Read[Session](ctx, sessions, "ada", "s1")
//	if errors.Is(err, mayfly.ErrNotFound) { ... } // there is none, or its half hour is over
//
// # Documents
//
// A document is whatever encoding/json makes a JSON object of, with a string "id". A container is partitioned
// by one to three of its properties: documents of one partition key are kept together, share transactions,
// and no two of them have the same id. A key is a plain Go value: a string, a number, a bool, or nil.
//
// Read, Query, Items, Changes and Expirations decode documents into a type of the caller's. The methods of
// Container give and take them as a Document, which has the text and the system's properties beside it: etag,
// time, expiry.
//
// # Expiry
//
// A container's default says how long its documents live, counted from their last write; TTL on a write, or a
// property "ttl" in seconds, says so for one document. The rules are Azure Cosmos DB's: without a default
// nothing expires, whatever a document says, and Forever as default lets only those expire that have a ttl. A
// document that has expired is gone for every reader in that second; its space is freed in the background.
//
// # Queues
//
// DB.Queue and DB.Topic open queues and topics on the same clock. A message that is received is locked for
// its receiver, who settles it by Complete, Abandon, Defer or DeadLetter; one that expires, or fails too
// often, is a dead letter that says why. The rules are Azure Service Bus's.
//
// # Time in tests
//
// OpenMemory with a Clock that stands still makes half an hour pass in no time:
//
//	clock := mayfly.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
//	db, err := mayfly.OpenMemory(mayfly.WithClock(clock))
//	...
//	clock.Advance(30 * time.Minute)
//
// # What it is made of
//
// This package is a door. Behind it stand package store, which has everything, in Cosmos DB's own terms, and
// package queue, in Service Bus's: DB.Store, Container.Store and DB.Queues give them. The same folder can be
// served to the Azure SDKs by the mayfly command, when no program has it open.
package mayfly
