package main

import (
	"context"
	"io"
	"testing"
	"testing/iotest"

	"github.com/mayflydb/mayfly/internal/cli"
)

// TestCancelWhileReadingInput checks that a command that waits for standard input ends when its context is
// canceled.
func TestCancelWhileReadingInput(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	for _, args := range [][]string{{"import", "-", "--db", "db", "--container", "c"}, {"shell"},
		{"put", "-", "--db", "db", "--container", "c"}} {
		ctx, cancel := context.WithCancel(t.Context())
		typed, types := io.Pipe()
		asked := make(chan struct{})
		first := &notifyingReader{typed, asked}
		ended := make(chan int)
		go func() {
			ended <- executeFrom(ctx, first, append(args, "--url", "http://"+b.host), io.Discard, io.Discard)
		}()
		<-asked
		cancel()
		if code := <-ended; code != exitFailed {
			t.Errorf("%v: %d", args, code)
		}
		types.Close()
	}
	failing := iotest.ErrReader(io.ErrUnexpectedEOF)
	in := cli.Interruptible(t.Context(), failing)
	if _, err := io.ReadAll(in); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// notifyingReader is a reader that closes a channel when it is first read.
type notifyingReader struct {
	io.Reader
	asked chan struct{}
}

func (s *notifyingReader) Read(p []byte) (int, error) {
	close(s.asked)
	return s.Reader.Read(p)
}
