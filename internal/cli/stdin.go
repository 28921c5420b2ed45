package cli

import (
	"context"
	"io"
)

// Interruptible returns a reader of in whose reads end when ctx does, so that a command that waits for input
// ends at the first signal. The caller must close it. The goroutine that reads from in may remain blocked
// until the process ends.
func Interruptible(ctx context.Context, in io.Reader) io.ReadCloser {
	out, feed := io.Pipe()
	context.AfterFunc(ctx, func() { feed.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(feed, in)
		feed.CloseWithError(err)
	}()
	return out
}
