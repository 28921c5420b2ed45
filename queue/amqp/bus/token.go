package bus

import "github.com/mayflydb/mayfly/queue/message"

// A lock token goes over the wire in two forms: as a UUID of AMQP in requests, and as the tag of its
// delivery, where its bytes are in the order in which Windows keeps a GUID: the first three groups the other
// way round.

func tagOf(token message.UUID) []byte {
	return []byte{token[3], token[2], token[1], token[0], token[5], token[4], token[7], token[6],
		token[8], token[9], token[10], token[11], token[12], token[13], token[14], token[15]}
}

// tokenOf is the token of a tag; ok is false for one that is none of ours.
func tokenOf(tag []byte) (token message.UUID, ok bool) {
	if len(tag) != len(token) {
		return token, false
	}
	return message.UUID(tagOf(message.UUID(tag))), true
}
