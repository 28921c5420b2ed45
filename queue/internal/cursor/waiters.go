package cursor

import (
	"container/list"
)

// WaiterQueue is a queue of waiting receivers, first come first served. The store's mutex guards it.
type WaiterQueue struct{ idle list.List } // of *Waiter that have not been woken

// WaitingReceiver is one waiting receiver. It is woken by a value in Ready, which has capacity 1.
type WaitingReceiver struct {
	Ready chan struct{}
	place *list.Element // nil if it is not in idle
}

// Join appends a new waiter.
func (w *WaiterQueue) Join() *WaitingReceiver {
	one := &WaitingReceiver{Ready: make(chan struct{}, 1)}
	one.place = w.idle.PushBack(one)
	return one
}

// Wake wakes the first n idle waiters.
func (w *WaiterQueue) Wake(n int) {
	for first := w.idle.Front(); first != nil && n > 0; first, n = w.idle.Front(), n-1 {
		one := w.idle.Remove(first).(*WaitingReceiver)
		one.place = nil
		one.Ready <- struct{}{} // never blocks: only the call that removes a waiter from idle sends
	}
}

// WakeAll wakes all waiters.
func (w *WaiterQueue) WakeAll() { w.Wake(w.Len()) }

// Len returns the number of waiters that have not been woken.
func (w *WaiterQueue) Len() int { return w.idle.Len() }

// PutBack makes a woken waiter wait again, as the first of the queue of waiters.
func (w *WaiterQueue) PutBack(one *WaitingReceiver) {
	if one.place == nil {
		one.place = w.idle.PushFront(one)
	}
}

// Leave removes a waiter. If it was woken and has not used the wake-up, the next waiter gets it.
func (w *WaiterQueue) Leave(one *WaitingReceiver) {
	if one.place != nil {
		w.idle.Remove(one.place)
		one.place = nil
		return
	}
	w.Wake(1)
}
