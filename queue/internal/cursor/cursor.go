package cursor

import (
	"container/heap"
)

// maxReturned is the maximal number of messages that a cursor lists as available again. If there are more,
// the cursor goes back to the lowest of them.
const maxReturned = 1024

// ReceivePosition is the position up to which the active messages of a store, or of a session, have been
// handed out. Each message with a number below next is claimed (handed out, for example), has expired, or is
// listed in returned because it has become available again. So a receive begins at next, and does not read
// all locked messages.
type ReceivePosition struct {
	next     int64
	returned sequenceNumberHeap
	// generation is incremented by Release and Restart. A receive that began before such a call must not
	// advance the cursor, because it may not have seen the message that has become available.
	generation uint64
	Waiters    WaiterQueue
}

// Release records that a message has become available to receivers again.
func (p *ReceivePosition) Release(seq int64) {
	p.generation++
	if seq >= p.next {
		return
	}
	heap.Push(&p.returned, seq)
	if len(p.returned) > maxReturned {
		p.next, p.returned = p.returned[0], nil
	}
}

// Restart moves the position back to the first message of the store or session.
func (p *ReceivePosition) Restart() {
	p.generation++
	p.next, p.returned = 0, nil
}

// Advance moves the position to the message after the sequence number behind. moves is the count that
// Position has returned; if Release or Restart was called since then, Advance does nothing.
func (p *ReceivePosition) Advance(behind int64, moves uint64) {
	if p.generation == moves {
		p.next = max(p.next, behind+1)
	}
}

// sequenceNumberHeap is a heap of sequence numbers.
type sequenceNumberHeap []int64

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (n sequenceNumberHeap) Len() int { return len(n) }

// Less orders by number.
func (n sequenceNumberHeap) Less(i, j int) bool { return n[i] < n[j] }

// Swap exchanges two elements.
func (n sequenceNumberHeap) Swap(i, j int) { n[i], n[j] = n[j], n[i] }

// Push appends an element.
func (n *sequenceNumberHeap) Push(x any) { *n = append(*n, x.(int64)) }

// Pop removes the last element.
func (n *sequenceNumberHeap) Pop() any {
	last := len(*n) - 1
	seq := (*n)[last]
	*n = (*n)[:last]
	return seq
}

// Position returns the lowest sequence number that may not have been handed out. moves counts the calls of
// Release and Restart; the caller passes it to Advance, which does nothing if one of them was called since
// then.
func (p *ReceivePosition) Position() (next int64, moves uint64) { return p.next, p.generation }

// PopReturned removes and returns the lowest sequence number among the messages that were already passed and
// have become available again. ok is false if there are none.
func (p *ReceivePosition) PopReturned() (seq int64, ok bool) {
	if len(p.returned) == 0 {
		return 0, false
	}
	return heap.Pop(&p.returned).(int64), true
}
