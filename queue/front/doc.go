// Package front is the network server of Service Bus. On one port it serves AMQP, AMQP over WebSocket and
// HTTP, each with or without TLS.
//
//	s := front.New(front.Options{AMQP: serve, HTTP: handler, TLS: config})
//	err := s.Serve(listener)      // as many as there are
//	err = s.Shutdown(ctx)
//
// The first byte of a connection determines its protocol. 16 (hexadecimal) begins a TLS handshake, within
// which the first byte is examined again. 41, an A, begins AMQP's protocol header. All others are HTTP. A
// WebSocket request for /$servicebus/websocket is served as AMQP.
//
// Each connection has a goroutine, and Shutdown waits for all of them.
package front
