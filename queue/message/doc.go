// Package message is a Service Bus message in pieces: what its sender wrote, so that a broker can look into
// it, change what it may change, and give the rest back byte for byte.
//
//	sections on the wire          here
//	header                        Message.Header
//	delivery annotations          Message.Delivery, less the token of a lock
//	message annotations           Message.Annotations, less those that are the broker's (Broker)
//	properties, 13 fields         Message.slots, each as it was encoded
//	application properties        Message.Application, each value as it was encoded
//	body: data, sequence, value   Message.Body, the sections as they came
//	footer                        Message.Footer
//
// A sender may write the sections in any order, as some clients do; they leave in this one. The keys of
// annotations and of the footer leave as symbols, whatever string they came as.
//
// There are three encodings. Parse reads what a client sends; ParseBatch the envelope of a batch. AppendWire
// writes what a receiver gets: the message with what the broker knows of it. AppendStored and ParseStored
// keep a message in the store.
//
// What is read aliases the bytes that it is read of, and is not changed by any method: a setter puts a new
// slice in the place of an old one. Clone makes a message that can be changed without the other one seeing
// it; the bytes stay shared.
package message
