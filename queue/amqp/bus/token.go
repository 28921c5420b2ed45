package bus

import "github.com/mayflydb/mayfly/queue/message"

// A lock token has two forms on the wire: an AMQP UUID in requests, and the delivery tag. The tag has the
// bytes in the order of a Windows GUID: the first three groups of bytes are little-endian.

func tagOf(token message.UUID) []byte {
	return []byte{token[3], token[2], token[1], token[0], token[5], token[4], token[7], token[6],
		token[8], token[9], token[10], token[11], token[12], token[13], token[14], token[15]}
}

// tokenOf returns the lock token that is in a delivery tag. ok is false if the tag has another length than a
// token.
func tokenOf(tag []byte) (token message.UUID, ok bool) {
	if len(tag) != len(token) {
		return token, false
	}
	return message.UUID(tagOf(message.UUID(tag))), true
}
