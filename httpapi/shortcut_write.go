package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// shortcutPiece is the maximum size in bytes of a response that is sent by one write.
const shortcutPiece = 16 << 10

// Header implements http.ResponseWriter: it returns the headers that WriteHeader will add to the response.
func (s *fastPathConn) Header() http.Header { return s.mapped }

// WriteHeader implements http.ResponseWriter: it builds the head of the response in s.answer and sends
// nothing yet.
func (s *fastPathConn) WriteHeader(status int) {
	if s.status != 0 {
		return
	}
	s.status = status
	b := s.c.head // see passHead
	if s.c.head = nil; b == nil {
		b = headBuffers.Get().(*headerBuffer)
		b.text = b.text[:statusRoom]
	}
	for _, name := range slices.Sorted(maps.Keys(s.mapped)) {
		for _, value := range s.mapped[name] {
			b.text = appendHeader(b.text, name, value)
		}
	}
	b.text = append(appendHeader(b.text, "Date", s.c.shortcuts.dateAt(s.now)), "\r\n"...)
	var line [statusRoom]byte
	first := append(line[:0], statusLine...)
	first = append(strconv.AppendInt(first, int64(status), 10), ' ')
	first = append(append(first, http.StatusText(status)...), "\r\n"...)
	s.from = statusRoom - len(first)
	copy(b.text[s.from:], first)
	s.answer = b
}

// Write implements http.ResponseWriter: it adds p to s.answer, or sends both if they are too large for one
// write.
func (s *fastPathConn) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	if s.answer != nil && len(s.answer.text)+len(p) <= shortcutPiece {
		s.answer.text = append(s.answer.text, p...)
		return len(p), nil
	}
	s.flush()
	if s.err == nil {
		_, s.err = s.c.write(p)
	}
	return len(p), s.err
}

// flush sends the bytes in s.answer.
func (s *fastPathConn) flush() {
	if s.answer == nil || s.err != nil {
		return
	}
	s.limitWrite()
	_, s.err = s.c.write(s.answer.text[s.from:])
	s.drop()
}

// drop returns the header buffers of the response to their pool, unless they have grown too large.
func (s *fastPathConn) drop() {
	for _, b := range []*headerBuffer{s.answer, s.c.head} {
		if b != nil && cap(b.text) <= 2*shortcutPiece {
			headBuffers.Put(b)
		}
	}
	s.answer, s.c.head = nil, nil
}

// SetWriteDeadline sets the deadline for sending the response. It is called by http.ResponseController.
func (s *fastPathConn) SetWriteDeadline(t time.Time) error {
	s.writeUntil = t
	return s.c.Conn.SetWriteDeadline(t)
}
