package cursor

import (
	"container/heap"
)

// maxReturned is how many returned messages below its position a cursor records individually.
const maxReturned = 1024

// Cursor is the position up to which the active messages of a store, or of a session, have been
// handed out. Each message below next is claimed, has expired, or is in returned. A receive therefore does
// not scan locked messages again.
type Cursor struct {
	next       int64
	returned   numbers
	generation uint64 // counts Release and Restart; a receive that read an older count must not advance
	Waiters    Waiters
}

// Release records that a message has become available to receivers.
func (p *Cursor) Release(seq int64) {
	p.generation++
	if seq >= p.next {
		return
	}
	heap.Push(&p.returned, seq)
	if len(p.returned) > maxReturned {
		p.next, p.returned = p.returned[0], nil
	}
}

// Restart makes receivers begin at the first message again.
func (p *Cursor) Restart() {
	p.generation++
	p.next, p.returned = 0, nil
}

// Advance moves the cursor behind a message, unless moves has changed since the caller read it.
func (p *Cursor) Advance(behind int64, moves uint64) {
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

// Position returns the number of the first message that may not have been handed out, and the count that
// Advance expects.
func (p *Cursor) Position() (next int64, moves uint64) { return p.next, p.generation }

// PopReturned removes the lowest number among the messages that have become available below the position.
func (p *Cursor) PopReturned() (seq int64, ok bool) {
	if len(p.returned) == 0 {
		return 0, false
	}
	return heap.Pop(&p.returned).(int64), true
}
