// Package amqp is the server side of AMQP 1.0: connections, sessions, links, windows and credit. It does not
// depend on what the links connect to: package bus implements Service Bus on it.
//
//	err := amqp.Serve(ctx, conn, amqp.Options{Connect: nodes.Connect})
//
// # Goroutines and nodes
//
//   - One goroutine reads a connection and another one writes it (conn.go, output_buffer.go). One lock guards
//     all state of a connection. It is never held while waiting.
//   - The other goroutines of a connection work for its links, each for one link at a time (worker_pool.go).
//   - What arrives alone at a link whose sink or source has been prompt so far is processed by the reading
//     goroutine itself (prompt.go). A little output is written by the goroutine that has made it
//     (output_buffer.go).
//   - A MessageSink receives the messages that a client sends. Complete messages are queued. While the queue
//     is not empty, a goroutine passes all messages in it to the sink at once, so that they can share a
//     transaction (incoming.go).
//   - A MessageSource provides messages to a client. While there is credit, a goroutine requests messages
//     from it (outgoing.go). The client's settlements are queued and passed to the source in the same way
//     (client_settlement.go).
//   - Links are served in parallel, with one exception: the discharge of a transaction waits for the work
//     of its transaction that arrived before it, and work that arrives after the discharge waits until it
//     is done (order.go).
//   - Attaching may wait, for example for a free session, so each attach has its own goroutine
//     (attach.go).
//
// # Limits
//
// All memory that a client uses counts against Options.Memory: links, unfinished messages, messages that
// wait for a sink, and output that the client does not read (memory_limit.go).
//
//   - Once the complete messages that wait for sinks have MaxPending bytes, the connection is not read any
//     more. This cannot block forever, because the sinks need no input. Unfinished messages do not stop
//     the reader, since only further input can complete them.
//   - A message of several frames takes memory in three steps: 256 KB, 1 MB, and all that its link allows.
//     A client that waits for a step holds the previous one, for half a minute at most; then the message
//     is refused. After the last step the message never waits for memory again. A message must be complete
//     within five minutes.
//   - An unauthenticated client is limited to 16 links, 16 sessions, 32 KB and one minute.
//
// No more messages are requested from a source than the client has granted credit for. The messages wait for
// the session's window and for space in the output. Every wait ends with its link, session or connection.
package amqp
