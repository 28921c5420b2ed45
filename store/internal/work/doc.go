// Package work bounds the resources that requests use in a process: time, memory, processors and
// throughput.
//
//	heavy_work_queue.go     limits the number of long queries and scripts, and lowers their priority
//	memory_budget.go        one budget of bytes for all requests
//	scan_limiter.go         ends a scan with its context and at its time limit
//	write_wait_context.go   limits the time that a write waits for its range
//	throttle.go             budgets of request units, refilled every second
//	background_task.go      a goroutine that works when it is woken, and repeats failed work
//	index_entry_count_cache.go, page_state_cache.go, plan_cache.go, ridcache.go   caches between requests
//
// The caches do not change any result. They can lose any entry at any moment: then a plan is made again, a
// rid is looked up again, and a page computes the rows again that an earlier page had cached for it.
package work
