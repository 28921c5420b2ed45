package rntbd

import "sync/atomic"

// maxIdle is the number of idle workers that a connection keeps.
const maxIdle = 8

// frameServingJob is a frame to be served by a worker.
type frameServingJob struct {
	f    *frame
	held int // bytes that were added to the backlog for the frame
}

// workerPool is the set of workers of a connection. A worker is a goroutine that serves frames until the
// connection ends. It is reused because its stack has grown to the size that an operation needs; growing a
// stack costs as much as an operation.
type workerPool struct {
	c    *conn
	jobs chan frameServingJob
	idle atomic.Int32
}

func (p *workerPool) init(c *conn) { p.c, p.jobs = c, make(chan frameServingJob) }

// run gives a job to an idle worker or, if there is none, starts a new worker. The goroutine that reads
// frames calls it.
func (p *workerPool) run(j frameServingJob) {
	select {
	case p.jobs <- j:
	default:
		p.c.work.Go(func() { p.work(j) })
	}
}

// close ends the workers when they are idle. run must not be called afterwards.
func (p *workerPool) close() { close(p.jobs) }

// work serves j and then the jobs that are passed to this worker.
func (p *workerPool) work(j frameServingJob) {
	for more := true; more; {
		p.c.serve(p.c.life, j.f, false)
		p.c.backlog.add(-j.held)
		<-p.c.places
		if p.idle.Add(1) > maxIdle {
			p.idle.Add(-1)
			return
		}
		j, more = <-p.jobs
		p.idle.Add(-1)
	}
}
