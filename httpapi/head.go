package httpapi

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
)

// A response has more than twenty headers. A map of them, which net/http sorts and writes, costs more than
// the read of an item. Therefore a call keeps its headers as text, and passHead passes them on in the form
// that is cheapest for the connection:
//
//	HTTP/1.1      one block of text that sniffConn.Write inserts after the status line
//	otherwise     the map of net/http: HTTP/2, errors, Mayfly's own API
//
// The head of a response in direct mode consists of tokens: see directModeReply.

// passHead makes the headers of the call a part of the response before its head is written. For a successful
// response over HTTP/1.1, the connection inserts them into the head as text, which is faster than net/http's
// map. For all other responses they go into that map.
func (c *activeRequest) passHead() {
	if c.mapped {
		return
	}
	if c.conn == nil || !c.http1 || c.ans.Status >= http.StatusBadRequest {
		c.mapHead()
		return
	}
	b := headBuffers.Get().(*headerBuffer)
	b.text = append(b.text[:statusRoom], c.head...)
	for _, f := range c.known {
		c.w.Header()[f.Name] = []string{f.Value}
	}
	c.conn.head = b
}

// mapHead moves the headers to net/http's map. Headers that are set later go there, too. If a header has
// been set twice, the later value counts.
func (c *activeRequest) mapHead() {
	if c.mapped {
		return
	}
	c.mapped = true
	h, text := c.w.Header(), string(c.head)
	values := make([]string, 0, strings.Count(text, "\n")+len(c.known))
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			set(name, value)
		}
	}
	for _, f := range c.known {
		set(f.Name, f.Value)
	}
}

// headerBuffer holds headers as text, after free space for a status line.
type headerBuffer struct{ text []byte }

// statusRoom is the number of bytes that suffices for a status line.
const statusRoom = 64

// headBuffers is a pool of headerBuffer values.
var headBuffers = sync.Pool{New: func() any { return &headerBuffer{make([]byte, statusRoom, 8<<10)} }}

// appendHeader appends a header line. As in net/http, the value cannot begin another line.
func appendHeader[T string | []byte](b []byte, name string, value T) []byte {
	b = append(append(b, name...), ": "...)
	at := len(b)
	b = append(b, value...)
	if bytes.IndexByte(b[at:], '\n') >= 0 || bytes.IndexByte(b[at:], '\r') >= 0 {
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
