package frame

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/mayflydb/mayfly/queue/wire"
)

// MinMaxFrameSize is the frame size that everybody takes, in bytes.
const MinMaxFrameSize = 512

// headSize is the size of a frame without extended header and body.
const headSize = 8

// Types of frames.
const (
	TypeAMQP = 0
	TypeSASL = 1
)

// ProtocolHeader is what a connection begins with, and its security layer.
type ProtocolHeader [8]byte

// The headers that a server speaks.
var (
	headerAMQP = ProtocolHeader{'A', 'M', 'Q', 'P', 0, 1, 0, 0}
	headerSASL = ProtocolHeader{'A', 'M', 'Q', 'P', 3, 1, 0, 0}
)

// HeaderAMQP is that of a connection.
func HeaderAMQP() ProtocolHeader { return headerAMQP }

// HeaderSASL is that of the security layer.
func HeaderSASL() ProtocolHeader { return headerSASL }

// FormatError says that what was read is no frame, or no performative. Condition is how the standard calls
// it.
type FormatError struct {
	Condition wire.Symbol
	Reason    string
	Err       error // of package wire; nil for none
}

func (e *FormatError) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Err.Error()
	}
	return e.Reason
}

// Unwrap returns what lies below.
func (e *FormatError) Unwrap() error { return e.Err }

func framing(format string, args ...any) error {
	return &FormatError{Condition: CondFraming, Reason: fmt.Sprintf(format, args...)}
}

// Frame is one frame.
type Frame struct {
	Type    byte
	Channel uint16
	Body    []byte // empty in a heartbeat
}

// Reader reads frames. It belongs to one goroutine.
type Reader struct {
	r    io.Reader
	max  uint32
	head [headSize]byte
	buf  []byte
}

// NewReader reads frames of up to max bytes.
func NewReader(r io.Reader, max uint32) *Reader { return &Reader{r: r, max: max} }

// SetMax changes how many bytes a frame may have.
func (r *Reader) SetMax(max uint32) { r.max = max }

// ProtocolHeader reads the eight bytes of a protocol header, whatever they are.
func (r *Reader) ProtocolHeader() (h ProtocolHeader, err error) {
	_, err = io.ReadFull(r.r, h[:])
	return h, err
}

// Next reads a frame. Its error is a *FormatError of CondFraming, or the connection's; io.EOF between two
// frames.
func (r *Reader) Next() (Frame, error) {
	if _, err := io.ReadFull(r.r, r.head[:]); err != nil {
		return Frame{}, err
	}
	size, offset := binary.BigEndian.Uint32(r.head[:]), 4*uint32(r.head[4])
	switch {
	case size > r.max:
		return Frame{}, framing("a frame of %d bytes, where %d are the most", size, r.max)
	case offset < headSize || offset > size:
		return Frame{}, framing("a frame of %d bytes whose body begins at %d", size, offset)
	case r.head[5] > TypeSASL:
		return Frame{}, framing("a frame of the type %d", r.head[5])
	}
	n := int(size - headSize)
	if cap(r.buf) < n {
		r.buf = make([]byte, n, max(n, MinMaxFrameSize))
	}
	body := r.buf[:n]
	if _, err := io.ReadFull(r.r, body); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return Frame{Type: r.head[5], Channel: binary.BigEndian.Uint16(r.head[6:]),
		Body: body[offset-headSize:]}, nil
}

// Body is a performative, or a body of SASL's.
type Body interface {
	descriptor() uint64
	fields(*list)
}

// Append writes a frame; a payload comes with a transfer alone. SASL's bodies make frames of SASL's type. The
// caller minds the size.
func Append(dst []byte, channel uint16, b Body, payload []byte) []byte {
	at := len(dst)
	kind := byte(TypeAMQP)
	if d := b.descriptor(); d >= descMechanisms && d <= descSASLOutcome {
		kind = TypeSASL
	}
	dst = append(dst, 0, 0, 0, 0, 2, kind, byte(channel>>8), byte(channel))
	dst = append(appendBody(dst, b), payload...)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at))
	return dst
}

// AppendHeartbeat writes an empty frame.
func AppendHeartbeat(dst []byte) []byte { return append(dst, 0, 0, 0, headSize, 2, TypeAMQP, 0, 0) }
