package rntbd

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"
)

// Sizes of frames, in bytes.
const (
	headSize  = 24       // length, two numbers, activity id; the tokens follow
	maxHead   = 1 << 20  // including its tokens
	earlyHead = 64 << 10 // the same, until a request on the connection has been authorized
	maxTaken  = 4 << 10  // of a body that is read into memory before its request is served
	maxPassed = 64 << 20 // of a body that is too long, but is read so that the client receives the response
)

// frame is a frame sent by a client, with its request and the response to it. Frames are pooled.
type frame struct {
	resource, operation uint16
	activity            [16]byte // as received
	tokens              tokenList
	head                int            // size of the head in bytes
	payload             *payloadReader // nil: none
	tooLong             bool           // the payload exceeds the limit
	raw                 []byte         // buffer for the bytes after the length

	request  Request
	response ResponseSender
}

// frames holds frames that are not in use, so that their buffers are used again.
var frames = sync.Pool{New: func() any { return new(frame) }}

// maxKept is the maximum size in bytes of the buffers of a frame that is returned to the pool. A frame with a
// larger buffer is left to the garbage collector.
const maxKept = 2 * inOnePiece

// release returns the frame to the pool. Its strings remain valid.
func (f *frame) release() {
	if cap(f.raw) > maxKept || cap(f.response.b) > maxKept {
		return
	}
	clear(f.tokens)
	clear(f.request.Fields)
	*f = frame{tokens: f.tokens[:0], raw: f.raw, request: Request{Fields: f.request.Fields[:0]},
		response: ResponseSender{b: f.response.b[:0]}}
	frames.Put(f)
}

// errPassed reports that the rest of a frame's body is so long that the connection is closed instead of
// skipping it.
var errPassed = errors.New("rntbd: the body of a frame is too long")

// Begins reports whether the first four decrypted bytes of a connection are the start of a frame. A frame
// begins with its length, which is below 2^24, so that the fourth byte is 0; in HTTP the fourth byte is
// never 0.
func Begins(first [4]byte) bool { return first[3] == 0 }

// readUint32 reads four bytes as a little-endian number.
func readUint32(r *bufio.Reader) (uint32, error) {
	b, err := r.Peek(4)
	if err != nil {
		if len(b) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	n := binary.LittleEndian.Uint32(b)
	_, err = r.Discard(len(b))
	return n, err
}

// readLength reads a frame's length, which must not exceed most.
func readLength(r *bufio.Reader, most int) (int, error) {
	n, err := readUint32(r)
	if err != nil {
		return 0, err
	}
	if n < headSize || int(n) > most {
		return 0, errMalformed
	}
	return int(n), nil
}

// readFrame reads the rest of a frame after its length, except for the payload. If the payload is longer
// than maxBody, it sets tooLong. A short payload that has already arrived is read into memory.
func readFrame(r *bufio.Reader, length, maxBody int) (*frame, error) {
	f := frames.Get().(*frame)
	f.head = length
	f.raw = slices.Grow(f.raw[:0], length-4)[:length-4]
	if _, err := io.ReadFull(r, f.raw); err != nil {
		return nil, err
	}
	f.resource, f.operation = binary.LittleEndian.Uint16(f.raw), binary.LittleEndian.Uint16(f.raw[2:])
	copy(f.activity[:], f.raw[4:20])
	var err error
	if f.tokens, err = parseTokens(f.tokens, string(f.raw[20:])); err != nil {
		return nil, err
	}
	if f.isContext() || f.tokens.number(tokenPayloadPresent) == 0 {
		return f, nil
	}
	size, err := readUint32(r)
	if err != nil {
		return nil, err
	}
	n := int64(size)
	if f.tooLong = n > int64(maxBody); n > maxPassed {
		return nil, errPassed
	}
	switch {
	case n > 0 && n <= min(maxTaken, int64(r.Buffered())) && !f.tooLong:
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		f.payload = &payloadReader{taken: body}
	case n > 0:
		f.payload = newPayload(r, n)
	}
	return f, nil
}

// isContext reports whether the frame is a connection context, the first frame of a connection. The numbers
// of its tokens have other meanings than in requests.
func (f *frame) isContext() bool { return f.resource == 0 && f.operation == 0 }

// readsItem reports whether the frame reads a single item.
func (f *frame) readsItem() bool {
	return f.resource == itemResource && f.operation == opRead && f.payload == nil
}

// guid formats a GUID in Microsoft's byte order, in which the first three parts are little-endian. It returns
// "" for a value of another length than 16 bytes.
func guid(value string) string {
	if len(value) != 16 {
		return ""
	}
	return string(appendGUID(nil, []byte(value)))
}

// appendGUID appends a GUID of 16 bytes as text.
func appendGUID(dst, b []byte) []byte {
	const digits = "0123456789abcdef"
	for i, at := range [...]byte{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15} {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b[at]>>4], digits[b[at]&15])
	}
	return dst
}

// appendAnswerHead starts a response. endHead sets its length after the tokens have been appended.
func appendAnswerHead(b []byte, status int, activity [16]byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(status))
	return append(b, activity[:]...)
}

// endHead writes the length of the finished response head b into its first four bytes.
func endHead(b []byte) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}
