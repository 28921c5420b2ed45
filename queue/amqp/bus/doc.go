// Package bus is Service Bus behind AMQP's links: it makes nodes of queues, topics and subscriptions.
//
//	b := bus.New(bus.Options{Queues: queues, Guard: guard})
//	err := amqp.Serve(ctx, conn, b.Options())
//
// # Nodes
//
//	a link to                        is
//	"orders", "news" (sender)        a sink that stores what comes (sender.go)
//	"orders", "news/Subscriptions/x" a source that locks, or deletes, what it gives (receiver.go, settle.go)
//	  with a session filter          the same, for the session that it locks (session.go)
//	"$cbs"                           where tokens are put (cbs.go)
//	"orders/$management"             requests and answers (manage.go and what it dispatches to)
//	a coordinator                    transactions (transaction.go)
//
// A transaction belongs to one queue or topic. Where its coordinator shares a session with other links, it
// goes through the entity of the first of them (transaction.go).
//
// Answers go to a link of the same session that the client receives on (reply.go).
//
// # Rights
//
// A connection collects what its tokens grant. Each link is let in by one of these grants, and detached when
// that has expired and no other has taken its place (rights.go).
//
// # Faults on demand
//
// A message that is sent, received or settled may meet a fault on demand, and so may a request to renew locks
// (faults.go). observe.go reports what became of them, for whoever measures.
//
// # Errors
//
// An error of package queue becomes a condition of AMQP and a status of a management answer by one table
// (errors.go). Descriptions end in a tracking id, as the service's do.
package bus
