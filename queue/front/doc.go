// Package front is the network server of Service Bus. On one port it serves AMQP, AMQP over WebSocket and
// HTTP, each with or without TLS.
//
//	s := front.New(front.Options{AMQP: serve, HTTP: handler, TLS: config})
//	err := s.Serve(listener)      // one call for each listener
//	err = s.Shutdown(ctx)
//
// The first byte of a connection determines its protocol. The byte 16 (hexadecimal) begins a TLS handshake;
// the first byte within TLS then determines the protocol in the same way. The byte 41, an A, begins AMQP's
// protocol header. Any other byte begins HTTP. A WebSocket request for /$servicebus/websocket is served as
// AMQP.
//
// Each connection has a goroutine, and Shutdown waits for all of them.
package front
