package rntbd

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/google/uuid"
)

// Sizes of frames, in bytes.
const (
	headSize  = 24       // length, two numbers, activity id: before the tokens
	maxHead   = 1 << 20  // with its tokens
	earlyHead = 64 << 10 // the same until a request of the connection has shown a key
	maxPassed = 64 << 20 // of a body that is too long, and is read to its end for the answer to arrive
)

// frame is what a client sends.
type frame struct {
	resource, operation uint16
	activity            [16]byte // as it came
	tokens              tokens
	head                int      // bytes
	payload             *payload // nil: none
	tooLong             bool     // the payload
}

// errPassed: a body is so long that it is not even read to its end.
var errPassed = errors.New("rntbd: the body of a frame is too long")

// Begins reports whether a connection's first four bytes, decrypted, are those of a frame: a length below
// 2^24, where HTTP has letters.
func Begins(first [4]byte) bool { return first[3] == 0 }

// readLength reads a frame's length, at most so many bytes, which may be long in coming.
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

// readFrame reads what follows the length, but for the payload's bytes: one that is longer than maxBody is
// not to be read.
func readFrame(r io.Reader, length, maxBody int) (*frame, error) {
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
	if n > 0 {
		f.payload = newPayload(r, n)
	}
	return f, nil
}

// isContext reports whether the frame has the form of a connection's first, whose tokens have other meanings.
func (f *frame) isContext() bool { return f.resource == 0 && f.operation == 0 }

// guid turns a GUID of Microsoft's order, whose first three parts are little-endian, into its text.
func guid(b []byte) string {
	if len(b) != 16 {
		return ""
	}
	return uuid.UUID{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6],
		b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]}.String()
}

// appendAnswerHead begins an answer: its length is set when the tokens are there, by endHead.
func appendAnswerHead(b []byte, status int, activity [16]byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(status))
	return append(b, activity[:]...)
}

// endHead sets the length of the head that b is.
func endHead(b []byte) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}
