// Package work bounds what requests take of a process: time, memory, processors and throughput.
//
//	heavy.go        few long queries and scripts run at a time, and stand back for short work
//	memory.go       one budget of bytes for all requests
//	stopwatch.go    a walk ends with its context and with its time
//	patience.go     a write waits for its range no longer than a request may take
//	throttle.go     request units that refill by the second
//	background.go   a goroutine that is woken for passes of work, and repeats those that fail
//	page_states.go, plans.go, ridcache.go   what is kept from one request for another
//
// Nothing here decides an answer. What is kept can be lost at any moment: a plan is made again, a rid is
// looked up again, and a page makes the rows again that an earlier page has left for it.
package work
