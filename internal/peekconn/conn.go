package peekconn

import "net"

// Conn is a connection whose first byte can be read ahead. First and Read must not be called concurrently.
type Conn struct {
	net.Conn
	first   byte
	pending bool // First has read a byte that Read has not returned yet
}

// New returns a connection over c. The caller must not use c any more.
func New(c net.Conn) *Conn { return &Conn{Conn: c} }

// First waits for the first byte and returns it. The next Read returns it again. First must be called once,
// before Read. It returns the error of the connection. That is io.EOF if the connection ends before its
// first byte.
func (c *Conn) First() (byte, error) {
	var b [1]byte
	for {
		n, err := c.Conn.Read(b[:])
		if n == 1 {
			c.first, c.pending = b[0], true
			return b[0], nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// Read reads from the connection, beginning with the byte that First has returned.
func (c *Conn) Read(p []byte) (int, error) {
	if !c.pending {
		return c.Conn.Read(p)
	}
	n := copy(p, []byte{c.first})
	c.pending = n == 0
	return n, nil
}
