// Package access decides who may do what with queues, topics and subscriptions: keys with rights, and the
// tokens that clients make of them.
//
//	g := access.New(access.Options{Keys: keys, Wall: ttl.Real{}})
//	grant, err := g.Token(`SharedAccessSignature sr=...&sig=...&se=...&skn=...`)
//	err = g.Allow(grant, "orders", access.Send)
//
// A key has a name, a text and rights: Listen, Send, Manage, of which the last implies the others. A token is
// signed by a key and grants its rights on one path and all below it, until it expires. A queue or topic can
// have keys of its own (rules.go), which are valid for it and all below it. The same token comes
// in an HTTP header and over AMQP's claims-based security, where it is for a connection to keep. AMQP's SASL
// PLAIN shows a key itself.
//
// # Modes
//
// Strict looks at everything. Emulator is for the public key of the emulators, which keeps nobody out: a
// token of a key that is known by its name is good, whatever else it says, so that a clock that is off, a
// proxy that rewrites addresses or a key from a copied connection string keep no test from running. Off lets
// everybody in.
//
// Tokens expire by real time: the clients that make them know nothing of a virtual clock.
package access
