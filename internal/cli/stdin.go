package cli

import (
	"context"
	"io"
)

// Interruptible returns an input whose reads end with ctx, so that a command that waits for input ends at the
// first signal. It must be closed. The goroutine that reads from in may remain blocked until the process
// ends.
func Interruptible(ctx context.Context, in io.Reader) io.ReadCloser {
	out, feed := io.Pipe()
	context.AfterFunc(ctx, func() { feed.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(feed, in)
		feed.CloseWithError(err)
	}()
	return out
}
