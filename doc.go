// Package mayfly is a document store for Go programs. It stores JSON documents that can expire, exact to the
// second, and messages in queues, which can expire as well.
//
//	db, err := mayfly.Open("data")
//	defer db.Close()
//	sessions, err := db.Container(ctx, "app/sessions", mayfly.PartitionBy("/user"), mayfly.DefaultTTL(30*time.Minute))
//
//	_, err = sessions.Upsert(ctx, Session{ID: "s1", User: "ada"})
//	s, err := mayfly.Read[Session](ctx, sessions, "ada", "s1")
//	if errors.Is(err, mayfly.ErrNotFound) { ... } // it does not exist or has expired
//
// # Documents
//
// A document is any value that encoding/json encodes as a JSON object with a string "id". A container is
// partitioned by one to three of its properties. Documents with the same partition key are stored together
// and can be changed in one transaction. Their ids must differ. A partition key is a plain Go value: a
// string, a number, a bool, or nil.
//
// The functions Read, Query, One and Items decode documents into a type of the caller. The methods of
// Container return a Document instead, which holds the JSON text and the system properties: etag, time of the
// last write, expiry. Document.Decode decodes it.
//
// # Expiry
//
// A container's default TTL sets after how long its documents expire, counted from their last write. The
// option TTL of a write, or a property "ttl" in seconds, sets this time for one document. The rules are those
// of Azure Cosmos DB: if the container has no default TTL, no document expires, even if it has its own ttl.
// If the default is Forever, only documents with their own ttl expire. From the second of its expiry on, no
// read returns the document. A background task then frees its space.
//
// # Queues
//
// DB.Queue and DB.Topic open queues and topics that use the same clock. A received message is locked for its
// receiver, which settles it with Complete, Abandon, Defer or DeadLetter. A message whose deliveries fail too
// often becomes a dead letter with a reason; so does a message that expires, if the queue has
// DeadLetterExpired. The rules are those of Azure Service Bus.
//
// # Time in tests
//
// With a Clock, which is stopped until the test moves it, half an hour can pass at once:
//
//	clock := mayfly.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
//	db, err := mayfly.OpenMemory(mayfly.WithClock(clock))
//	...
//	clock.Advance(30 * time.Minute)
//
// # Underlying packages
//
// This package is a simple interface to the packages store and queue. They have all features of Cosmos DB and
// Service Bus, under the names that these services use. DB.Store, Container.Store and DB.Queues return the
// underlying values. When no program has a folder open, the command mayfly serve can serve it to the Azure
// SDKs.
package mayfly
