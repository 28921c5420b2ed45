// Package queue implements Service Bus's queues, topics and subscriptions: messages that expire, are locked,
// settled, deferred and dead-lettered, and entities that are deleted when they are idle. Like the document
// store, it is a tenant of package host and uses the host's engine, catalog, clock and reaper.
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
// A message can be received if it has index entries: a key that receivers read and a key that the reaper
// reads. A claim reserves a message in the memory of one server, for an operation in progress or for the
// client that has received it. A lock is a claim that a client owns: it has a token and ends at a certain
// time. A change is due when its time has come: a lock lapses, or a scheduled message becomes active.
//
// # State on disk and in memory
//
// All state that must survive a restart is in the engine: entities, rules, messages, delivery counts,
// session state, and the message ids used for duplicate detection. Locks are volatile, as in Service Bus:
// they end with a restart and with a change of the entity. If only one server has the engine open, locks are
// in memory, so that a lock costs no write. The memory needed depends on the number of locks, not on the
// number of messages stored. Counters are in memory as well, so that a transaction need not read them
// (countercache.go).
//
// # Several servers on one engine
//
// If several servers share the engine (engine.SharedEngine), locks are stored under keys. While a message is
// locked, it is not in the index of available messages. The transaction that hands a message out writes its
// lock. A transaction that settles the message, or renews or ends the lock, reads the lock first. Locks
// survive the end of a server, and lapse at their time. A receive and a settlement are one transaction each,
// whatever the number of messages stored.
//
// Each server has the properties and rules of all entities in memory, with a version that transactions
// compare with the mark of their scope. For callers that wait, the server reads the marks of the scopes that
// they wait for, once a second and when the host reports a change by another server. Some state belongs to
// one server: transactions that clients have begun, which end with the server; the time of the last receive,
// for Options.LazyExpiry; and the sizes of a topic's subscriptions, which can be a few seconds old when the
// quota of the topic is checked.
//
// A queue, or a topic with all its subscriptions, is one scope of the engine. Therefore changes of messages
// within one queue or topic are serial, and a publication arrives in all subscriptions in one transaction. A
// transaction that concerns several entities, as in forwarding, names the scopes of all of them.
//
// # Expiry
//
// Every receive checks the expiry rule itself, in milliseconds of the server's clock. The reaper, a
// background task of the host, frees the space of expired messages, or moves them to the dead-letter queue
// if the entity is configured to do that.
package queue
