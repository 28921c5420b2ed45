// Package bus implements Service Bus on AMQP links: it creates the nodes of queues, topics and
// subscriptions.
//
//	b := bus.New(bus.Options{Queues: queues, Guard: guard})
//	err := amqp.Serve(ctx, conn, b.Options())
//
// # Nodes
//
//	a link to                        is
//	"orders", "news" (sender)        a sink that stores messages (sender.go)
//	"orders", "news/Subscriptions/x" a source that locks or deletes messages (receiver.go, settle.go)
//	  with a session filter          the same, for the session that it locks (session.go)
//	"$cbs"                           the node to which tokens are sent (cbs.go)
//	"orders/$management"             requests and responses (manage.go and the manage_*.go files)
//	a coordinator                    transactions (declared_transaction.go)
//
// A transaction belongs to one queue or topic. If its coordinator shares a session with other links, the
// entity of the first of these links is the transaction's entity (declared_transaction.go).
//
// Responses are sent to a link of the same session on which the client receives (reply.go).
//
// # Rights
//
// A connection collects the grants of its tokens. Each link needs one of these grants. When that grant has
// expired and no other grant allows the link, the link is detached (rights.go).
//
// # Faults
//
// A fault rule (see package inject) can make a send, a receive, a settlement or a request to renew locks
// fail (faults.go). observe.go reports the results of operations for metrics.
//
// # Errors
//
// One table maps errors of package queue to AMQP conditions and to statuses of management responses
// (errors.go). Descriptions end with a tracking id, as in Service Bus.
package bus
