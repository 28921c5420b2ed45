// Package front is the door of Service Bus: on one port it answers AMQP, AMQP in a WebSocket and HTTP, each
// of them plain or inside of TLS.
//
//	s := front.New(front.Options{AMQP: serve, HTTP: handler, TLS: config})
//	err := s.Serve(listener)      // as many as there are
//	err = s.Shutdown(ctx)
//
// The first byte of a connection reports what it is: 16 (hexadecimal) begins a handshake of TLS, inside of
// which the same question is asked again; 41, an A, begins AMQP's protocol header; anything else is HTTP. A
// request for a WebSocket at /$servicebus/websocket goes on as AMQP.
//
// A connection belongs to a goroutine, and Shutdown waits for all of them.
package front
