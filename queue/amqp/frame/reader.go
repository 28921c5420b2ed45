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

// ProtocolHeader is the first data that a peer sends on a connection, and again after the security layer.
type ProtocolHeader [8]byte

// The protocol headers of AMQP and of SASL.
var (
	headerAMQP = ProtocolHeader{'A', 'M', 'Q', 'P', 0, 1, 0, 0}
	headerSASL = ProtocolHeader{'A', 'M', 'Q', 'P', 3, 1, 0, 0}
)

// HeaderAMQP returns the protocol header of AMQP 1.0 without a security layer, with which each peer begins.
func HeaderAMQP() ProtocolHeader { return headerAMQP }

// HeaderSASL returns the protocol header with which a peer begins the SASL security layer of a connection.
func HeaderSASL() ProtocolHeader { return headerSASL }

// FormatError reports data that is not a valid frame or performative. Condition is the condition that the
// standard defines for it.
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

// Frame is an AMQP or SASL frame: its type, its channel and its encoded body.
type Frame struct {
	Type    byte
	Channel uint16
	Body    []byte // empty in a heartbeat
}

// readSize is the size of a Reader's buffer in bytes, unless a frame is larger.
const readSize = 4 << 10

// Reader reads frames. It reads ahead into a buffer. It is not safe for concurrent use.
type Reader struct {
	r        io.Reader
	max      uint32
	buf      []byte
	from, to int // the part of buf that has been read from the connection and not returned yet
}

// NewReader returns a Reader of frames of up to max bytes.
func NewReader(r io.Reader, max uint32) *Reader { return &Reader{r: r, max: max} }

// SetMax changes the maximal size of a frame in bytes.
func (r *Reader) SetMax(max uint32) { r.max = max }

// ProtocolHeader reads the eight bytes of a protocol header without checking them.
func (r *Reader) ProtocolHeader() (h ProtocolHeader, err error) {
	if err := r.fill(len(h)); err != nil {
		return h, err
	}
	r.from += copy(h[:], r.buf[r.from:])
	return h, nil
}

// fill reads until there are n bytes in the buffer. It returns io.EOF if the input ends before the first of
// them.
func (r *Reader) fill(n int) error {
	if r.from == r.to {
		r.from, r.to = 0, 0
	}
	if r.from+n > len(r.buf) {
		to := r.buf
		if n > len(to) {
			to = make([]byte, max(n, readSize))
		}
		r.from, r.to, r.buf = 0, copy(to, r.buf[r.from:r.to]), to
	}
	for r.to-r.from < n {
		m, err := r.r.Read(r.buf[r.to:])
		if r.to += m; r.to-r.from >= n {
			return nil
		}
		if err == io.EOF && r.to > r.from {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// HasNext reports whether Next returns without reading from the connection.
func (r *Reader) HasNext() bool {
	have := r.to - r.from
	return have >= headSize && uint32(have) >= binary.BigEndian.Uint32(r.buf[r.from:])
}

// Next reads a frame. Its body is valid until the next call. It returns a *FormatError with CondFraming, an
// error of the connection, or io.EOF if the input ends between two frames.
func (r *Reader) Next() (Frame, error) {
	if err := r.fill(headSize); err != nil {
		return Frame{}, err
	}
	head := r.buf[r.from:]
	size, offset := binary.BigEndian.Uint32(head), 4*uint32(head[4])
	switch {
	case size > r.max:
		return Frame{}, framing("a frame of %d bytes, where %d are the most", size, r.max)
	case offset < headSize || offset > size:
		return Frame{}, framing("a frame of %d bytes whose body begins at %d", size, offset)
	case head[5] > TypeSASL:
		return Frame{}, framing("a frame of the type %d", head[5])
	}
	if err := r.fill(int(size)); err != nil {
		return Frame{}, err
	}
	whole := r.buf[r.from : r.from+int(size)]
	r.from += int(size)
	return Frame{Type: whole[5], Channel: binary.BigEndian.Uint16(whole[6:]), Body: whole[offset:]}, nil
}

// Body is a performative or a SASL body.
type Body interface {
	descriptor() uint64
	fields(*fieldListEncoder)
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
