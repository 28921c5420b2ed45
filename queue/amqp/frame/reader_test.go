package frame

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// TestReadAhead checks that Reader returns the same frames whatever the sizes of the reads from the
// connection, and that an input that ends within a frame gives io.ErrUnexpectedEOF instead of io.EOF.
func TestReadAhead(t *testing.T) {
	var in []byte
	for i := range 20 {
		in = Append(in, uint16(i), &Transfer{Handle: uint32(i)}, make([]byte, i*1000))
	}
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"all":   func(r io.Reader) io.Reader { return r },
		"bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "end with data": iotest.DataErrReader} {
		for _, cut := range []int{0, 1, 900} {
			r := NewReader(wrap(bytes.NewReader(in[:len(in)-cut])), 1<<20)
			n, ahead := 0, 0
			for {
				if r.HasNext() {
					ahead++
				}
				f, err := r.Next()
				if want := io.EOF; err != nil {
					if cut > 0 {
						want = io.ErrUnexpectedEOF
					}
					if !errors.Is(err, want) {
						t.Error(name, cut, err)
					}
					break
				}
				body, payload, err := Parse(f.Body)
				if tr, ok := body.(*Transfer); err != nil || !ok || f.Channel != uint16(n) ||
					tr.Handle != uint32(n) || len(payload) != n*1000 {
					t.Fatal(name, cut, n, f, err)
				}
				n++
			}
			if want := 20 - min(cut, 1); n != want || name == "all" && ahead == 0 {
				t.Error(name, cut, n, ahead)
			}
		}
	}
}
