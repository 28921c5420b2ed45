// Package message splits a Service Bus message into its parts, so that a broker can read and change some of
// them, and return all other parts byte for byte as the sender wrote them.
//
//	sections on the wire          here
//	header                        Message.Header
//	delivery annotations          Message.Delivery, without the lock token
//	message annotations           Message.Annotations, without those of the broker (BrokerProperties)
//	properties, 13 fields         Message.slots, each in its encoding
//	application properties        Message.Application, each value in its encoding
//	body: data, sequence, value   Message.Body, the sections in their encoding
//	footer                        Message.Footer
//
// Senders may write the sections in any order, as some clients do. They are sent to receivers in the order
// above. String keys of annotations and of the footer are sent as symbols.
//
// There are three encodings. Parse decodes a message sent by a client, and ParseBatch the envelope of a
// batch. AppendWire encodes a message for a receiver, with the broker's properties. AppendStored and
// ParseStored encode and decode messages in the store.
//
// A decoded message aliases its input. No method modifies these bytes: setters replace slices. A clone can
// be changed without affecting the original; they share the bytes.
package message
