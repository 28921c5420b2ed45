package frame

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/mayflydb/mayfly/queue/wire"
)

// MinMaxFrameSize is the frame size that every peer must accept, in bytes.
const MinMaxFrameSize = 512

// headSize is the size of a frame header without an extended header, in bytes.
const headSize = 8

// Types of frames.
const (
	TypeAMQP = 0
	TypeSASL = 1
)

// ProtocolHeader is the first data of a connection and of its security layer.
type ProtocolHeader [8]byte

// The supported headers.
var (
	headerAMQP = ProtocolHeader{'A', 'M', 'Q', 'P', 0, 1, 0, 0}
	headerSASL = ProtocolHeader{'A', 'M', 'Q', 'P', 3, 1, 0, 0}
)

// HeaderAMQP returns the header of AMQP.
func HeaderAMQP() ProtocolHeader { return headerAMQP }

// HeaderSASL returns the header of the security layer.
func HeaderSASL() ProtocolHeader { return headerSASL }

// FormatError is the error for data that is no valid frame or performative. Condition is the standard's
// condition for it.
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

// Unwrap returns Err.
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

// Reader reads frames. It is not safe for concurrent use.
type Reader struct {
	r    io.Reader
	max  uint32
	head [headSize]byte
	buf  []byte
}

// NewReader returns a Reader of frames of up to max bytes.
func NewReader(r io.Reader, max uint32) *Reader { return &Reader{r: r, max: max} }

// SetMax changes the maximal size of a frame in bytes.
func (r *Reader) SetMax(max uint32) { r.max = max }

// ProtocolHeader reads the eight bytes of a protocol header without checking them.
func (r *Reader) ProtocolHeader() (h ProtocolHeader, err error) {
	_, err = io.ReadFull(r.r, h[:])
	return h, err
}

// Next reads a frame. Its error is a *FormatError with CondFraming, or an error of the connection. At the
// end of input between two frames it is io.EOF.
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

// Body is a performative or a SASL body.
type Body interface {
	descriptor() uint64
	fields(*list)
}

// Append appends a frame to dst. Only a transfer has a payload. SASL bodies get a frame of type SASL. The
// caller checks the maximal frame size.
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

// AppendHeartbeat appends an empty frame.
func AppendHeartbeat(dst []byte) []byte { return append(dst, 0, 0, 0, headSize, 2, TypeAMQP, 0, 0) }
