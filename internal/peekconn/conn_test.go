package peekconn

import (
	"errors"
	"io"
	"net"
	"testing"
)

// scriptedConn is a connection whose reads return prepared results, one after the other.
type scriptedConn struct {
	net.Conn
	reads []string
	end   error // with the last of them
}

func (s *scriptedConn) Read(p []byte) (int, error) {
	if len(s.reads) == 0 {
		return 0, s.end
	}
	n := copy(p, s.reads[0])
	if s.reads[0] = s.reads[0][n:]; s.reads[0] == "" {
		s.reads = s.reads[1:]
	}
	if len(s.reads) == 0 {
		return n, s.end
	}
	return n, nil
}

// TestFirst checks that First returns the first byte even if reads before it are empty, and that Read
// returns the byte again.
func TestFirst(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		reads []string
		end   error
		text  string // "": there is no first byte
	}{
		"plain":               {reads: []string{"AMQP"}, end: io.EOF, text: "AMQP"},
		"empty reads":         {reads: []string{"", "", "A", "MQP"}, end: io.EOF, text: "AMQP"},
		"an end with a byte":  {reads: []string{"A"}, end: io.EOF, text: "A"},
		"an end":              {end: io.EOF},
		"an end after nought": {reads: []string{"", ""}, end: broken},
	} {
		t.Run(name, func(t *testing.T) {
			conn := New(&scriptedConn{reads: c.reads, end: c.end})
			first, err := conn.First()
			if c.text == "" {
				if !errors.Is(err, c.end) {
					t.Errorf("the error is %v, not %v", err, c.end)
				}
				return
			}
			if err != nil || first != c.text[0] {
				t.Fatalf("%q, %v", first, err)
			}
			if n, err := conn.Read(nil); n != 0 || err != nil {
				t.Errorf("an empty read returns %d, %v", n, err)
			}
			if text, err := io.ReadAll(conn); err != nil || string(text) != c.text {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}
