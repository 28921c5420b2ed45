// Package access authorizes operations on queues, topics and subscriptions. It has keys with rights, and
// verifies the tokens that clients sign with them.
//
//	g := access.New(access.TokenVerifierOptions{Keys: keys, Wall: ttl.SystemClock{}})
//	grant, err := g.Token(`SharedAccessSignature sr=...&sig=...&se=...&skn=...`)
//	err = g.Allow(grant, "orders", access.Send)
//
// A key has a name, a text and rights: Listen, Send and Manage, which implies the others. A token is signed
// with a key. It grants the key's rights on one path and all paths below it, until it expires. A queue or
// topic can have keys of its own (rules.go), which are valid for it and all paths below it. The same token
// is sent in an HTTP header or over AMQP's claims-based security; an AMQP connection then keeps the grant.
// AMQP's SASL PLAIN sends a key itself.
//
// # Modes
//
// Strict verifies tokens completely. Emulator is for the key of Microsoft's emulators, which is public and
// protects nothing. This mode accepts every token whose key name is known, so that tests run even with a
// wrong clock, with a proxy that rewrites addresses, or with a key from a copied connection string. Off
// accepts all requests.
//
// Tokens expire in real time, because the clients that create them do not know the virtual clock.
package access
