package cli

import (
	"context"
	"io"
)

// Interruptible is an input whose reads end with ctx: who waits for what nobody types, or for a pipe that
// stays open, ends at the first signal. It must be closed. What reads the input itself may wait on; it does
// so until the process ends.
func Interruptible(ctx context.Context, in io.Reader) io.ReadCloser {
	out, feed := io.Pipe()
	context.AfterFunc(ctx, func() { feed.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(feed, in)
		feed.CloseWithError(err)
	}()
	return out
}
