// Package work bounds the resources that requests use in a process: time, memory, processors and
// throughput.
//
//	heavy.go        limits the number of long queries and scripts, and lowers their priority
//	memory.go       one budget of bytes for all requests
//	stopwatch.go    ends a scan with its context and at its time limit
//	patience.go     limits the time that a write waits for its range
//	throttle.go     request units that refill by the second
//	background.go   a goroutine that is woken for passes of work and repeats failed ones
//	page_states.go, plans.go, ridcache.go   caches between requests
//
// Nothing in this package changes an answer. The caches can lose any entry at any moment: then a plan is
// made again, a rid is looked up again, and a page computes again the rows that an earlier page had
// cached for it.
package work
