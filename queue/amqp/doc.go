// Package amqp is the server's side of AMQP 1.0: connections, sessions, links, windows and credit. What is
// behind the links it does not know: package bus makes Service Bus of it.
//
//	err := amqp.Serve(ctx, conn, amqp.Options{Connect: nodes.Connect})
//
// # Who does what
//
//   - One goroutine reads a connection and another one writes it (conn.go, output.go). All state of a connection is
//     guarded by one lock, which nobody holds while he waits.
//   - A Sink takes the messages that a client sends. Whole messages are queued, and a goroutine that lives as long
//     as there are some gives the sink all that have come meanwhile at once, so that they can share a
//     transaction (incoming.go).
//   - A Source gives messages to a client. While there is credit a goroutine asks it for some (outgoing.go). How the
//     client settles them is queued and given to the source in the same way (settle.go).
//   - Links work side by side, but for transactions: a discharge waits for the work of its transaction that
//     arrived before it, and what arrives behind it waits until it is done (order.go).
//   - Attaching may wait, for a session that nobody has yet for example; so each has a goroutine, too (attach.go).
//
// # What bounds what
//
// All that a client has sent and nobody has taken yet counts against Options.Room from the moment it is
// there: links, unfinished messages, messages that wait for a sink, output that the client does not read
// (room.go).
//
//   - Whole messages keep the connection from being read, once they have MaxPending bytes: their sinks free
//     them without the reader. Unfinished ones never do, since only what comes next can finish them.
//   - A message of several frames takes room in three steps: 256 KB, 1 MB, and all that its link allows. A
//     client that waits for a step holds the one before, for half a minute at most; then the message is
//     refused. After the last step it waits for nothing. A message must be whole in five minutes.
//   - Until a client has shown who it is, it has 16 links, 16 sessions, 32 KB and a minute.
//
// Sources are not asked for more than the client has given credit for, and what they have given waits for the
// session's window and for room in the output. Whatever waits ends with its link, session or connection.
package amqp
