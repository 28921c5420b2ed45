package rntbd

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/google/uuid"
)

// Sizes of frames, in bytes.
const (
	headSize  = 24       // length, two numbers, activity id; the tokens follow
	maxHead   = 1 << 20  // including its tokens
	earlyHead = 64 << 10 // the same, until a request on the connection has been authorized
	maxTaken  = 4 << 10  // of a body that is read into memory before its request is served
	maxPassed = 64 << 20 // of a body that is too long, but is read so that the client receives the response
)

// frame is a frame sent by a client.
type frame struct {
	resource, operation uint16
	activity            [16]byte // as received
	tokens              tokens
	head                int      // size of the head in bytes
	payload             *payload // nil: none
	tooLong             bool     // the payload exceeds the limit
	// bytes of a payload that is in memory; 0: the payload is read from the connection
	taken int
}

// errPassed reports a body that is too long even to be read and discarded.
var errPassed = errors.New("rntbd: the body of a frame is too long")

// Begins reports whether the first four decrypted bytes of a connection are the start of a frame. A frame
// begins with its length, which is below 2^24, so that the fourth byte is 0; in HTTP the fourth byte is
// never 0.
func Begins(first [4]byte) bool { return first[3] == 0 }

// readLength reads a frame's length, which must not exceed most.
func readLength(r io.Reader, most int) (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(b[:])
	if n < headSize || int(n) > most {
		return 0, errMalformed
	}
	return int(n), nil
}

// readFrame reads the rest of a frame after its length, except for the payload. If the payload is longer
// than maxBody, it sets tooLong. A short payload that has already arrived is read into memory.
func readFrame(r *bufio.Reader, length, maxBody int) (*frame, error) {
	b := make([]byte, length-4)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	f := &frame{head: length, resource: binary.LittleEndian.Uint16(b),
		operation: binary.LittleEndian.Uint16(b[2:])}
	copy(f.activity[:], b[4:20])
	var err error
	if f.tokens, err = parseTokens(b[20:]); err != nil {
		return nil, err
	}
	if f.isContext() || f.tokens.number(tokenPayloadPresent) == 0 {
		return f, nil
	}
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(size[:]))
	if f.tooLong = n > int64(maxBody); n > maxPassed {
		return nil, errPassed
	}
	switch {
	case n > 0 && n <= min(maxTaken, int64(r.Buffered())) && !f.tooLong:
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		f.payload, f.taken = newPayload(bytes.NewReader(body), n), int(n)
	case n > 0:
		f.payload = newPayload(r, n)
	}
	return f, nil
}

// isContext reports whether the frame is a connection context, whose tokens have their own meanings.
func (f *frame) isContext() bool { return f.resource == 0 && f.operation == 0 }

// readsItem reports whether the frame reads a single item.
func (f *frame) readsItem() bool {
	return f.resource == itemResource && f.operation == opRead && f.payload == nil
}

// guid formats a GUID in Microsoft's byte order, in which the first three parts are little-endian.
func guid(b []byte) string {
	if len(b) != 16 {
		return ""
	}
	return uuid.UUID{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6],
		b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]}.String()
}

// appendAnswerHead starts a response. endHead sets its length after the tokens have been appended.
func appendAnswerHead(b []byte, status int, activity [16]byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(status))
	return append(b, activity[:]...)
}

// endHead sets the length in the head b.
func endHead(b []byte) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}
