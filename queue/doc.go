// Package queue keeps Service Bus's queues, topics and subscriptions: messages that expire, are locked,
// settled, deferred and dead-lettered, and entities that delete themselves. It is a tenant of package host
// beside the documents: the same engine, catalog, clock and reaper.
//
//	queues := queue.New(queue.Options{})
//	h, err := host.Open(ctx, engine, host.Options{}, queues.Tenant())
//	_, err = queues.Create(ctx, entity.Queue, "orders", entity.Defaults(entity.Queue))
//	err = queues.Send(ctx, entity.Address{Entity: "orders"}, []*message.Message{m}, nil)
//
// # Words
//
// An entity is a queue, a topic or a subscription. A message store is what messages are received from: a
// queue or a subscription, and the two sub-queues of each, for dead letters and for dead letters of
// transfers. A topic keeps scheduled messages alone. An address names a message store or a topic: "orders",
// "news/Subscriptions/all", "orders/$DeadLetterQueue".
//
// # What is kept where
//
// All that must survive lies in the engine: entities, rules, messages, delivery counts, session state, the
// ids by which duplicates are known. Locks are volatile by contract (they end with a restart, and with a
// change of the entity), and lie in memory: a lock costs no write, and a queue of a million messages no more
// memory than one of a thousand.
//
// One scope of the engine carries a queue, or a topic with all its subscriptions: so whatever moves a message
// inside of one is serial, and a publication arrives in all subscriptions in one transaction. Forwarding and
// transactions name the scopes of all that they touch.
//
// # Expiry
//
// Every receiver decides by the rule, in milliseconds of the server's clock; the reaper frees space, and
// moves what has expired to the dead letters where the entity wants that.
package queue
