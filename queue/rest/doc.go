// Package rest is Service Bus over HTTP: messages that are sent, received and settled by requests of their
// own, and entities and rules that are made, changed and listed as ATOM entries.
//
//	h := rest.New(rest.Options{Queues: queues, Guard: guard})
//
// # Paths
//
//	POST   orders/messages                    sends (send.go)
//	POST   orders/messages/head               locks the next message (receive.go)
//	DELETE orders/messages/head               takes it
//	DELETE orders/messages/{id}/{lock}        completes it, PUT gives it back, POST renews its lock
//	any    orders, news/Subscriptions/all, news/Subscriptions/all/Rules/red
//	                                          an entity or a rule (entities.go, rules.go)
//	GET    $Resources/Queues, news/Subscriptions, news/Subscriptions/all/Rules
//	                                          lists of them (list.go)
//	GET    $namespaceinfo, health             what there is beside
//
// Names have no case. What ends like the path of an operation on messages is one: no entity is called
// orders/messages here, though its name would be good.
//
// # Entries
//
// An entry describes an entity in the elements, and in the order, of the service's schema (describe.go).
// Clients depend on more of that than they should: which elements there are, the prefixes of names, the links
// of a feed. What a comment does not explain is one of these.
//
// # Rights
//
// Each request has a token, in the header Authorization: Listen receives and settles, Send sends, Manage does
// the rest. Errors for tokens without the right Manage have the service's texts and status lines (refuse.go).
//
// # Log
//
// Each request is a line at the level debug: method, path, status, and the code and text of an error.
//
// # Faults on demand
//
// Requests about messages may meet faults on demand (faults.go).
package rest
