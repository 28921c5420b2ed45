package ttl

import "time"

// How the reaper shares the machine with foreground work.
//
// After each batch that leaves more behind while foreground operations are in flight, it stands back for a
// multiple of the time that the batch took. A batch that had to queue behind foreground writers took longer,
// so the pause grows with the load by itself and needs no figure of what this machine can do.
//
// The multiple falls by half each time the backlog has lasted another halving: 8, 4, 2, ... down to a
// quarter. So a burst of expired items is worked off gently, with a ninth of one goroutine's time, while a
// stream that brings more than that gets more and more, up to four fifths. Never all: an operation that waits
// gets its turn between two batches. Once nothing is due the next backlog starts at the gentle end.
const (
	gentlest = 8
	halving  = 2 * time.Second
	maxPause = 50 * time.Millisecond // for a batch that took absurdly long, the first on a cold disk, say
)

// pause returns how long to stand back after a batch that took the given time, when the backlog has lasted so
// long.
func pause(took, lasted time.Duration) time.Duration {
	halvings := min(lasted/halving, 5)
	return min(took*gentlest>>halvings, maxPause)
}

// backoff returns how long a range is left alone after so many failures in a row: a second, doubling up to a
// minute.
func backoff(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 6), time.Minute)
}
