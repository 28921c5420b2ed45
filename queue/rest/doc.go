// Package rest implements Service Bus over HTTP: sending, receiving and settling messages, and creating,
// changing and listing entities and rules as ATOM entries.
//
//	h := rest.New(rest.Options{Queues: queues, Guard: guard})
//
// # Paths
//
//	POST   orders/messages                    sends (send.go)
//	POST   orders/messages/head               locks the next message (receive.go)
//	DELETE orders/messages/head               receives and deletes it
//	DELETE orders/messages/{id}/{lock}        completes it, PUT abandons it, POST renews its lock
//	any    orders, news/Subscriptions/all, news/Subscriptions/all/Rules/red
//	                                          an entity or a rule (entities.go, rules.go)
//	GET    $Resources/Queues, news/Subscriptions, news/Subscriptions/all/Rules
//	                                          lists of them (list.go)
//	GET    $namespaceinfo, health             the namespace, and the state of the server
//
// Case is ignored in paths. A path that ends like an operation on messages always is such an operation.
// Therefore an entity named orders/messages cannot be addressed, although the name is valid.
//
// # Entries
//
// An entry describes an entity by the elements of the service's schema, in their order (describe.go).
// Clients depend on details of the XML: which elements exist, the prefixes of names, and the links of a
// feed. Where no other reason is given for such a detail, this is the reason.
//
// # Rights
//
// Each request has a token in the Authorization header. Receiving and settling need the right Listen,
// sending needs Send, and everything else needs Manage. Errors for tokens without Manage have the texts and
// status lines of Service Bus (refuse.go).
//
// # Log
//
// Each request logs a line at level debug: method, path, status, and the code and text of an error.
//
// # Faults
//
// Fault rules (see package inject) can make requests for messages fail (faults.go).
package rest
