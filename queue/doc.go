// Package queue stores Service Bus's queues, topics and subscriptions: messages that expire, are locked,
// settled, deferred and dead-lettered, and entities that delete themselves. It is a tenant of package host
// beside the document store, and shares its engine, catalog, clock and reaper.
//
//	queues := queue.New(queue.Options{})
//	h, err := host.Open(ctx, engine, host.Options{}, queues.Tenant())
//	_, err = queues.Create(ctx, entity.Queue, "orders", entity.Defaults(entity.Queue))
//	err = queues.Send(ctx, entity.Address{Entity: "orders"}, []*message.Message{m}, nil)
//
// # Terms
//
// An entity is a queue, a topic or a subscription. A message store is what a client receives messages from:
// a queue or a subscription, or one of the two sub-queues of each, for dead letters and for transfer dead
// letters. A topic stores only scheduled messages. An address names a message store or a topic: "orders",
// "news/Subscriptions/all", "orders/$DeadLetterQueue".
//
// # State on disk and in memory
//
// All state that must survive a restart is in the engine: entities, rules, messages, delivery counts,
// session state, and the message ids used for duplicate detection. Locks are volatile by contract: they end
// with a restart and with a change of the entity. If one server has the engine alone, they are in memory, so
// a lock costs no write. Memory depends on the number of locks, not on the number of messages stored.
// Counters are kept in memory, too, so that a transaction need not read them (countercache.go).
//
// # Several servers on one engine
//
// If several servers share the engine (engine.Shared), locks are keys. A message leaves the index of
// available messages while it is locked. The transaction that gives a message out writes its lock; the one
// that settles it, renews the lock or ends it reads the lock first. Locks survive a server that ends, and
// lapse at their time. A receive and a settlement are one transaction each, whatever the number of messages
// stored.
//
// Each server has the properties and rules of all entities in memory, with a version that transactions
// compare with the mark of their scope. Callers that wait are woken by a look at the awaited scopes, once a
// second and when the host reports a change by another server. Some state remains per server: transactions
// that clients have begun, which end with their server; the time of the last receive, for Options.LazyExpiry;
// and the sizes of a topic's subscriptions, which are a few seconds old when the quota of the topic is
// checked.
//
// A queue, or a topic with all its subscriptions, is one scope of the engine. Therefore changes of messages
// within one queue or topic are serial, and a publication arrives in all subscriptions in one transaction.
// Forwarding and transactions name the scopes of all entities that they touch.
//
// # Expiry
//
// Every receive checks the expiry rule itself, in milliseconds of the server's clock. The reaper only frees
// space, and moves expired messages to the dead-letter queue if the entity is configured so.
package queue
