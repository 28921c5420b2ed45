package queue

import (
	"container/heap"
	"container/list"

	"github.com/mayflydb/mayfly/queue/message"
)

// claim reserves a message for one operation: a lock that was handed out to a client, or, without a token,
// a receive, purge or deletion in progress.
type claim struct {
	seq      int64
	token    message.UUID
	locked   bool         // it was handed out and has a token
	busy     bool         // its owner has a transaction in progress on it
	deferred bool         // it was received by its number
	stale    bool         // the entity was changed: the lock is lost when the transaction ends
	session  *sessionLock // the session lock that covers it; nil if deadline applies
	group    string       // the message's session, if it is read already
	holder   *Receiver    // the receiver whose end ends the claim; nil: none
	deadline
}

// sessionLock is the lock of a session. It covers the messages that its holder has received.
type sessionLock struct {
	id     string
	holder *Receiver
	token  message.UUID // of the stored lock, in a shared engine
	lost   bool         // it is ending: its messages are being released
	cursor receiveCursor
	deadline
}

// deadline is the time at which a lock lapses, an element of a heap.
type deadline struct {
	until int64
	index int // in the heap; -1 if it is in none
	claim *claim
	lock  *sessionLock
}

// deadlines is a heap of a store's locks, ordered by the time at which they lapse.
type deadlines []*deadline

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (d deadlines) Len() int { return len(d) }

// Less orders by time.
func (d deadlines) Less(i, j int) bool { return d[i].until < d[j].until }

// Swap exchanges two elements.
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

// Push appends an element.
func (d *deadlines) Push(x any) {
	one := x.(*deadline)
	one.index = len(*d)
	*d = append(*d, one)
}

// Pop removes the last element.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	one := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	one.index = -1
	return one
}

// set sets the time at which a lock lapses, and adds the lock if it is not in the heap.
func (d *deadlines) set(one *deadline, until int64) {
	one.until = until
	if one.index < 0 {
		heap.Push(d, one)
		return
	}
	heap.Fix(d, one.index)
}

// forget removes a lock from the heap.
func (d *deadlines) forget(one *deadline) {
	if one.index >= 0 {
		heap.Remove(d, one.index)
	}
}

// maxReturned is how many returned messages below its position a cursor records individually.
const maxReturned = 1024

// receiveCursor is the position up to which the active messages of a store, or of a session, have been
// handed out. Each message below next is claimed, has expired, or is in returned. A receive therefore does
// not scan locked messages again.
type receiveCursor struct {
	next       int64
	returned   numbers
	generation uint64 // counts free and restart; a receive that read an older count must not advance
	waiters    waiters
}

// release records that a message has become available to receivers.
func (p *receiveCursor) release(seq int64) {
	p.generation++
	if seq >= p.next {
		return
	}
	heap.Push(&p.returned, seq)
	if len(p.returned) > maxReturned {
		p.next, p.returned = p.returned[0], nil
	}
}

// restart makes receivers begin at the first message again.
func (p *receiveCursor) restart() {
	p.generation++
	p.next, p.returned = 0, nil
}

// advance moves the cursor behind a message, unless moves has changed since the caller read it.
func (p *receiveCursor) advance(behind int64, moves uint64) {
	if p.generation == moves {
		p.next = max(p.next, behind+1)
	}
}

// numbers is a heap of sequence numbers.
type numbers []int64

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (n numbers) Len() int { return len(n) }

// Less orders by number.
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }

// Swap exchanges two elements.
func (n numbers) Swap(i, j int) { n[i], n[j] = n[j], n[i] }

// Push appends an element.
func (n *numbers) Push(x any) { *n = append(*n, x.(int64)) }

// Pop removes the last element.
func (n *numbers) Pop() any {
	last := len(*n) - 1
	seq := (*n)[last]
	*n = (*n)[:last]
	return seq
}

// waiters is a queue of waiting receivers, first come first served. The store's mutex guards it.
type waiters struct{ idle list.List } // of *waiter that have not been woken

// waiter waits until a value arrives in ready, which has capacity 1.
type waiter struct {
	ready chan struct{}
	place *list.Element // nil if it is not in idle
}

// join appends a new waiter.
func (w *waiters) join() *waiter {
	one := &waiter{ready: make(chan struct{}, 1)}
	one.place = w.idle.PushBack(one)
	return one
}

// wake wakes the first n idle waiters.
func (w *waiters) wake(n int) {
	for first := w.idle.Front(); first != nil && n > 0; first, n = w.idle.Front(), n-1 {
		one := w.idle.Remove(first).(*waiter)
		one.place = nil
		one.ready <- struct{}{} // never blocks: only the call that removes a waiter from idle sends
	}
}

// wakeAll wakes all waiters.
func (w *waiters) wakeAll() { w.wake(w.idle.Len()) }

// putBack puts a woken waiter back, as the first.
func (w *waiters) putBack(one *waiter) {
	if one.place == nil {
		one.place = w.idle.PushFront(one)
	}
}

// leave removes a waiter. If it was woken and has not used the wake-up, the next waiter gets it.
func (w *waiters) leave(one *waiter) {
	if one.place != nil {
		w.idle.Remove(one.place)
		one.place = nil
		return
	}
	w.wake(1)
}
