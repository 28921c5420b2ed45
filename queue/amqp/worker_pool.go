package amqp

// maxParked is the maximal number of goroutines of a connection that wait for work.
const maxParked = 16

// workerPool runs functions in goroutines. A goroutine that has finished its function waits for another one,
// since its stack has already grown to the size that such functions need. The connection's lock guards the
// fields.
type workerPool struct {
	parked []chan func() // each with one slot
	ended  bool          // no goroutine may wait for work any more
}

// goWork runs fn in a goroutine of the connection. After fn it calls done, without the lock. The caller
// holds the lock.
func (c *conn) goWork(fn, done func()) {
	task := func() {
		defer done()
		fn()
	}
	if last := len(c.idlers.parked) - 1; last >= 0 {
		next := c.idlers.parked[last]
		c.idlers.parked = c.idlers.parked[:last]
		next <- task
		return
	}
	c.work.Go(func() { c.workOn(task) })
}

// workOn runs a function, and then the functions that goWork passes to this goroutine.
func (c *conn) workOn(task func()) {
	next := make(chan func(), 1)
	for ok := true; ok; task, ok = <-next {
		task()
		if !c.park(next) {
			return
		}
	}
}

// park adds the channel of this goroutine to those on which the connection hands out work. It returns
// false, and the goroutine must end, if enough goroutines are waiting already.
func (c *conn) park(next chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idlers.ended || len(c.idlers.parked) >= maxParked {
		return false
	}
	c.idlers.parked = append(c.idlers.parked, next)
	return true
}

// endWorkers ends the goroutines that wait for work. The caller holds the lock.
func (c *conn) endWorkers() {
	c.idlers.ended = true
	for _, next := range c.idlers.parked {
		close(next)
	}
	c.idlers.parked = nil
}
