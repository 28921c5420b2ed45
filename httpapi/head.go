package httpapi

import (
	"bytes"
	"net/http"
	"strings"
	"sync"

	"github.com/mayflydb/mayfly/internal/rntbd"
)

// A response has more than twenty headers. A map of them, which net/http sorts and writes, costs more than
// the read of an item. Therefore a call keeps its headers in a list, and passHead passes them on in the form
// that is cheapest for the connection:
//
//	HTTP/1.1      one block of text that sniffConn.Write inserts after the status line
//	direct mode   the list itself, from which package rntbd makes tokens
//	otherwise     the map of net/http: HTTP/2, errors, Mayfly's own API

// passHead passes the call's headers to the connection in the form that suits it, before the head of the
// response is written.
func (c *call) passHead() {
	if c.mapped {
		return
	}
	if frame, ok := c.w.Writer.(interface{ SetHead(rntbd.Head) }); ok {
		frame.SetHead(c)
		return
	}
	if c.conn == nil || c.r.ProtoMajor != 1 || c.ans.Status >= http.StatusBadRequest {
		c.mapHead()
		return
	}
	b := headBuffers.Get().(*headBuffer)
	b.text = b.text[:statusRoom]
	for _, f := range c.head {
		if f.Name[0] < 'a' { // net/http must know these
			c.w.Header()[f.Name] = []string{f.Value}
			continue
		}
		b.text = appendHeader(b.text, f.Name, f.Value)
	}
	c.conn.head = b
}

// mapHead moves the headers to net/http's map. Headers that are set later go there, too. If a header has
// been set twice, the later value counts.
func (c *call) mapHead() {
	if c.mapped {
		return
	}
	c.mapped = true
	h, values := c.w.Header(), make([]string, len(c.head))
	for i, f := range c.head {
		values[i] = f.Value
		h[f.Name] = values[i : i+1 : i+1]
	}
}

// Get implements rntbd.Head.
func (c *call) Get(name string) string {
	for i := len(c.head) - 1; i >= 0; i-- {
		if c.head[i].Name == name {
			return c.head[i].Value
		}
	}
	return ""
}

// headBuffer holds headers as text, after free space for a status line.
type headBuffer struct{ text []byte }

// statusRoom is the number of bytes that suffices for a status line.
const statusRoom = 64

// headBuffers is the pool of buffers.
var headBuffers = sync.Pool{New: func() any { return &headBuffer{make([]byte, statusRoom, 8<<10)} }}

// appendHeader appends a header line. As in net/http, the value cannot begin another line.
func appendHeader(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	at := len(b)
	b = append(b, value...)
	if strings.IndexByte(value, '\n') >= 0 || strings.IndexByte(value, '\r') >= 0 {
		for i, char := range b[at:] {
			if char == '\n' || char == '\r' {
				b[at+i] = ' '
			}
		}
	}
	return append(b, "\r\n"...)
}

// writeWithHead writes the first bytes of a response, with c.head inserted after the status line.
func (c *sniffConn) writeWithHead(p []byte) (int, error) {
	b := c.head
	c.head = nil
	end := bytes.IndexByte(p[:min(len(p), statusRoom)], '\n') + 1
	out := b.text[statusRoom-end:]
	copy(out, p[:end])
	first := len(p)
	if first > cap(b.text) {
		first = end
	}
	_, err := c.write(append(out, p[end:first]...))
	if err == nil && first < len(p) {
		_, err = c.write(p[first:])
	}
	b.text = b.text[:statusRoom]
	headBuffers.Put(b)
	return len(p), err
}
