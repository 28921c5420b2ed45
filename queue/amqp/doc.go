// Package amqp is the server side of AMQP 1.0: connections, sessions, links, windows and credit. It does
// not depend on what the links connect to: package bus implements Service Bus on it.
//
//	err := amqp.Serve(ctx, conn, amqp.Options{Connect: nodes.Connect})
//
// # Goroutines and nodes
//
//   - One goroutine reads a connection and another one writes it (conn.go, output.go). One lock guards
//     all state of a connection. It is never held while waiting.
//   - The other goroutines belong to a connection and work for one link after the other (workers.go).
//   - A Sink receives the messages that a client sends. Complete messages are queued. While the queue is
//     not empty, a goroutine passes all messages in it to the sink at once, so that they can share a
//     transaction (incoming.go).
//   - A Source provides messages to a client. While there is credit, a goroutine asks it for messages
//     (outgoing.go). The client's settlements are queued and passed to the source in the same way
//     (settle.go).
//   - Links work in parallel, with one exception: the discharge of a transaction waits for the work of
//     its transaction that arrived before it, and work that arrives after the discharge waits until it is
//     done (order.go).
//   - Attaching may wait, for example for a free session, so each attach has a goroutine, too
//     (attach.go).
//
// # Limits
//
// Options.Memory counts all memory that a client uses: links, unfinished messages, messages that wait for a
// sink, and output that the client does not read (memory_limit.go).
//
//   - Once the complete messages that wait for sinks have MaxPending bytes, the connection is not read
//     any more. This cannot block forever, because the sinks need no input. Unfinished messages do not
//     stop the reader, since only further input can complete them.
//   - A message of several frames takes room in three steps: 256 KB, 1 MB, and all that its link allows.
//     A client that waits for a step holds the previous one, for half a minute at most; then the message
//     is refused. After the last step it waits for nothing. A message must be complete within five
//     minutes.
//   - An unauthenticated client is limited to 16 links, 16 sessions, 32 KB and one minute.
//
// A source is asked for no more messages than the client has given credit for. Its messages wait for the
// session's window and for space in the output. Every wait ends with its link, session or connection.
package amqp
