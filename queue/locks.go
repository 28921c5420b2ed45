package queue

import (
	"container/heap"
	"container/list"

	"github.com/mayflydb/mayfly/queue/message"
)

// claim keeps a message from everybody else: a lock that was handed out, or, without a token, what a
// receive, a purge or a deletion has under way.
type claim struct {
	seq      int64
	token    message.UUID
	locked   bool         // it was handed out, and has a token
	busy     bool         // a transaction of one who has taken it is under way
	deferred bool         // it was received by its number
	stale    bool         // the entity has been changed since: the lock is lost when the transaction is over
	session  *sessionLock // whose lock covers it; nil: deadline does
	group    string       // the session of the message, as far as it is known
	holder   *Receiver    // nil: nobody's end ends it
	deadline
}

// sessionLock is the lock of a session, which covers the messages that its receiver has taken.
type sessionLock struct {
	id     string
	holder *Receiver
	lost   bool // it is ending: its messages are being given back
	cursor receiveCursor
	deadline
}

// deadline is when a lock lapses, in its place in a heap.
type deadline struct {
	until int64
	index int // in the heap; -1: in none
	claim *claim
	lock  *sessionLock
}

// deadlines are the locks of a store by when they lapse.
type deadlines []*deadline

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (d deadlines) Len() int { return len(d) }

// Less orders by the moment.
func (d deadlines) Less(i, j int) bool { return d[i].until < d[j].until }

// Swap exchanges two.
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

// Push adds one.
func (d *deadlines) Push(x any) {
	one := x.(*deadline)
	one.index = len(*d)
	*d = append(*d, one)
}

// Pop takes the last one away.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	one := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	one.index = -1
	return one
}

// set puts a lock's end to a moment.
func (d *deadlines) set(one *deadline, until int64) {
	one.until = until
	if one.index < 0 {
		heap.Push(d, one)
		return
	}
	heap.Fix(d, one.index)
}

// forget takes a lock out.
func (d *deadlines) forget(one *deadline) {
	if one.index >= 0 {
		heap.Remove(d, one.index)
	}
}

// maxReturned is how many messages a cursor remembers one by one that have come back to where receivers have
// been.
const maxReturned = 1024

// receiveCursor is the position up to which the active messages of a store, or of a session, have been handed
// out. All below next are claimed, have expired, or are among the returned, so that a receive does not walk
// over locked messages again.
type receiveCursor struct {
	next     int64
	returned numbers
	moves    uint64 // counts what became free or came below next: who has looked before must not move it on
	waiters  waiters
}

// free notes a message that is there to be received, and was not before.
func (p *receiveCursor) free(seq int64) {
	p.moves++
	if seq >= p.next {
		return
	}
	heap.Push(&p.returned, seq)
	if len(p.returned) > maxReturned {
		p.next, p.returned = p.returned[0], nil
	}
}

// restart lets the receivers begin at the first message again.
func (p *receiveCursor) restart() {
	p.moves++
	p.next, p.returned = 0, nil
}

// advance moves the cursor on behind a number, where nothing has become free since it had so many moves.
func (p *receiveCursor) advance(behind int64, moves uint64) {
	if p.moves == moves {
		p.next = max(p.next, behind+1)
	}
}

// numbers are a heap of messages' numbers.
type numbers []int64

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (n numbers) Len() int { return len(n) }

// Less orders by the number.
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }

// Swap exchanges two.
func (n numbers) Swap(i, j int) { n[i], n[j] = n[j], n[i] }

// Push adds one.
func (n *numbers) Push(x any) { *n = append(*n, x.(int64)) }

// Pop takes the last one away.
func (n *numbers) Pop() any {
	last := len(*n) - 1
	seq := (*n)[last]
	*n = (*n)[:last]
	return seq
}

// waiters wait for something, first come first served. The store's mutex guards them.
type waiters struct{ idle list.List } // of *waiter that have not been woken

// waiter waits until it is woken: ready has one slot.
type waiter struct {
	ready chan struct{}
	place *list.Element // nil: it is not idle
}

// join adds one who waits, as the last.
func (w *waiters) join() *waiter {
	one := &waiter{ready: make(chan struct{}, 1)}
	one.place = w.idle.PushBack(one)
	return one
}

// wake wakes the first n of those who have not been woken.
func (w *waiters) wake(n int) {
	for first := w.idle.Front(); first != nil && n > 0; first, n = w.idle.Front(), n-1 {
		one := w.idle.Remove(first).(*waiter)
		one.place = nil
		one.ready <- struct{}{} // empty: it is filled by who takes it out of the idle ones alone
	}
}

// all wakes all.
func (w *waiters) all() { w.wake(w.idle.Len()) }

// again lets one who was woken wait on, as the first.
func (w *waiters) again(one *waiter) {
	if one.place == nil {
		one.place = w.idle.PushFront(one)
	}
}

// leave ends the waiting of one. What it was woken for, and has not looked at, is the next one's.
func (w *waiters) leave(one *waiter) {
	if one.place != nil {
		w.idle.Remove(one.place)
		one.place = nil
		return
	}
	w.wake(1)
}
