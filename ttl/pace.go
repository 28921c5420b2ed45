package ttl

import "time"

// How the reaper shares the machine with foreground work.
//
// If foreground operations are in flight after a batch that leaves more to purge, the reaper pauses for a
// multiple of the batch's duration. A batch that had to queue behind foreground writers took longer, so
// the pause grows with the load. No measure of the machine's capacity is needed.
//
// The multiple is halved each time the backlog has lasted for another span of halving: 8, 4, 2, ... down to
// a quarter. So a burst of expired items is purged slowly, with a ninth of one goroutine's time: the flushes
// and compactions that follow a purge take more time than the purge itself. A steady stream of expired items
// gets more and more time, up to four fifths. It never gets all: a waiting operation runs between two
// batches. When nothing is due any more, the next backlog starts with 8 again.
const (
	gentlest = 8
	halving  = 10 * time.Second
	maxPause = 50 * time.Millisecond // for a batch that took very long, such as the first on a cold disk
)

// pause returns how long the reaper pauses after a batch of purges if other operations are running. took is
// the duration of the batch; lasted is the time for which there have been expired items to purge without
// interruption.
func pause(took, lasted time.Duration) time.Duration {
	halvings := min(lasted/halving, 5)
	return min(took*gentlest>>halvings, maxPause)
}

// backoff returns how long a range is not swept after a number of consecutive failures: a second,
// doubling up to a minute.
func backoff(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 6), time.Minute)
}
