package queue

import (
	"container/heap"

	"github.com/mayflydb/mayfly/queue/internal/cursor"
	"github.com/mayflydb/mayfly/queue/internal/layout"
	"github.com/mayflydb/mayfly/queue/message"
)

// inMemoryMessageClaim reserves a message in memory for one operation, so that no other operation uses the
// message at the same time. There are two kinds. A claim with a token (locked is set) is Service Bus's
// peek-lock: the client owns it, and it ends when the client settles the message or when its deadline passes.
// A claim without a token belongs to an operation of the server that is in progress, such as a receive, a
// purge or a deletion, and ends with that operation. Claims do not survive a restart. If several servers
// share the engine, the locks are stored in the engine instead (storedlocks.go).
type inMemoryMessageClaim struct {
	seq      int64
	token    message.UUID
	locked   bool                 // it was handed out and has a token
	busy     bool                 // its owner has a transaction in progress on it
	deferred bool                 // it was received by its number
	stale    bool                 // the entity was changed, so the lock is lost when the transaction ends
	session  *sessionLock         // the session lock that covers it; nil: the claim ends at its own deadline
	group    string               // session of the message, if that has been read
	header   layout.MessageHeader // of a locked message
	holder   *Receiver            // the claim ends with this receiver; nil: with none
	lockDeadline
}

// sessionLock is the lock of a session. It covers the messages that the session's holder has received.
type sessionLock struct {
	id     string
	holder *Receiver
	token  message.UUID // of the stored lock, if several servers share the engine
	lost   bool         // the lock is ending and its messages are being released
	cursor cursor.ReceivePosition
	lockDeadline
}

// lockDeadline is the time at which a lock lapses, an element of a heap.
type lockDeadline struct {
	until int64
	index int // in the heap; -1 if it is in none
	claim *inMemoryMessageClaim
	lock  *sessionLock
}

// lockDeadlineHeap is a heap of a store's locks, ordered by the time at which they lapse.
type lockDeadlineHeap []*lockDeadline

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (d lockDeadlineHeap) Len() int { return len(d) }

// Less reports whether the i-th lock lapses before the j-th. It is a part of heap.Interface.
func (d lockDeadlineHeap) Less(i, j int) bool { return d[i].until < d[j].until }

// Swap exchanges two elements.
func (d lockDeadlineHeap) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

// Push appends an element.
func (d *lockDeadlineHeap) Push(x any) {
	one := x.(*lockDeadline)
	one.index = len(*d)
	*d = append(*d, one)
}

// Pop removes the last element.
func (d *lockDeadlineHeap) Pop() any {
	last := len(*d) - 1
	one := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	one.index = -1
	return one
}

// set sets the time at which a lock lapses, and adds the lock if it is not in the heap.
func (d *lockDeadlineHeap) set(one *lockDeadline, until int64) {
	one.until = until
	if one.index < 0 {
		heap.Push(d, one)
		return
	}
	heap.Fix(d, one.index)
}

// forget removes a lock from the heap.
func (d *lockDeadlineHeap) forget(one *lockDeadline) {
	if one.index >= 0 {
		heap.Remove(d, one.index)
	}
}
