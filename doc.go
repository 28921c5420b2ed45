// Package mayfly is a document store inside a Go program: JSON documents that expire, exact to the second,
// and queues of messages that expire.
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
// A document is any value that encoding/json encodes as a JSON object with a string "id". A container is
// partitioned by one to three of its properties. Documents of one partition key are stored together, can be
// changed in one transaction, and have different ids. A partition key is a plain Go value: a string, a
// number, a bool, or nil.
//
// Read, Query, Items, Changes and Expirations decode documents into a type of the caller's. The methods of
// Container use the type Document, which holds the text and the system properties: etag, time, expiry.
//
// # Expiry
//
// A container's default TTL sets how long its documents live, counted from their last write. TTL on a write,
// or a property "ttl" in seconds, sets it for one document. The rules are Azure Cosmos DB's: without a
// default nothing expires, whatever ttl a document has, and with Forever as default only documents with a ttl
// expire. No reader sees a document from the second on in which it expires; its space is freed in the
// background.
//
// # Queues
//
// DB.Queue and DB.Topic open queues and topics that use the same clock. A received message is locked for its
// receiver, who settles it by Complete, Abandon, Defer or DeadLetter. A message that expires or fails too
// often becomes a dead letter with a reason. The rules are Azure Service Bus's.
//
// # Time in tests
//
// With a Clock that stands still, a test can let half an hour pass at once:
//
//	clock := mayfly.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
//	db, err := mayfly.OpenMemory(mayfly.WithClock(clock))
//	...
//	clock.Advance(30 * time.Minute)
//
// # Underlying packages
//
// This package is a simple interface to package store, which has all features in Cosmos DB's terms, and
// package queue, which uses Service Bus's terms. DB.Store, Container.Store and DB.Queues return the
// underlying values. The mayfly command can serve the same folder to the Azure SDKs while no program has it
// open.
package mayfly
