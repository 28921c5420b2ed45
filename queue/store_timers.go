package queue

import (
	"container/heap"
	"context"
	"sync"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/alarm"
)

// messageDueTimeScheduler makes changes of stores that are due, if no other operation makes them: locks lapse
// and scheduled messages become active. One goroutine serves all stores of a dataset. Correctness does not
// depend on its speed, because receives and the reaper make the due changes of their store themselves.
type messageDueTimeScheduler struct {
	*alarm.Alarm
	m    *loadedEntities
	mu   sync.Mutex // guards the following fields
	heap timerHeap
	open []*Transaction
}

// retryTimer is the number of milliseconds until a store is tried again after an error.
const retryTimer = 1000

func newTimers(m *loadedEntities) *messageDueTimeScheduler {
	t := &messageDueTimeScheduler{m: m}
	t.Alarm = alarm.New(m.in.Clock(), t.tick)
	return t
}

// arm plans the next automatic change of the message store s, such as the end of a lock, for the time at, in
// milliseconds since 1970. If an earlier change is planned already, that one stays.
func (t *messageDueTimeScheduler) arm(s *inMemoryMessageStoreState, at int64) {
	if at == host.Never {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case s.timer.at <= at && s.timer.index >= 0:
		return
	case s.timer.index < 0:
		s.timer.at = at
		heap.Push(&t.heap, s)
	default:
		s.timer.at = at
		heap.Fix(&t.heap, s.timer.index)
	}
	if s.timer.index == 0 {
		t.WakeUp()
	}
}

// tick makes the changes that are due at the millisecond now in queues and subscriptions, and rolls back
// transactions whose time is over. It returns the millisecond at which it must be called again.
func (t *messageDueTimeScheduler) tick(ctx context.Context, now int64) (first int64) {
	for ctx.Err() == nil {
		t.mu.Lock()
		if over := t.overdue(now); len(over) > 0 {
			t.mu.Unlock()
			for _, tx := range over {
				tx.Rollback()
			}
			continue
		}
		if first = t.first(); first > now {
			t.mu.Unlock()
			return first
		}
		s := heap.Pop(&t.heap).(*inMemoryMessageStoreState)
		t.mu.Unlock()
		if _, err := s.tick(ctx); err != nil {
			if entity.ErrorCodeOf(err) == entity.CodeEntityNotFound {
				continue // it was deleted
			}
			if ctx.Err() == nil {
				t.m.logger().Warn("a timer of a queue failed", "entity", s.Name(), "error", err)
			}
			t.arm(s, now+retryTimer)
			continue
		}
		t.arm(s, s.nextWakeup())
	}
	return host.Never
}

// first returns the earliest millisecond at which a store or a transaction is due. The caller holds the
// mutex.
func (t *messageDueTimeScheduler) first() int64 {
	first := int64(host.Never)
	if len(t.heap) > 0 {
		first = t.heap[0].timer.at
	}
	for _, tx := range t.open {
		first = min(first, tx.until)
	}
	return first
}

// messageStoreWakeUpTime is a store's wake-up time and its position in the heap. The mutex of timers guards
// it.
type messageStoreWakeUpTime struct {
	at    int64
	index int // -1 if it is in no heap
}

// timerHeap is a heap of stores by their wake-up times.
type timerHeap []*inMemoryMessageStoreState

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (w timerHeap) Len() int { return len(w) }

// Less reports whether the i-th message store is due before the j-th. It is a part of heap.Interface.
func (w timerHeap) Less(i, j int) bool { return w[i].timer.at < w[j].timer.at }

// Swap exchanges two elements.
func (w timerHeap) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].timer.index, w[j].timer.index = i, j
}

// Push appends an element.
func (w *timerHeap) Push(x any) {
	s := x.(*inMemoryMessageStoreState)
	s.timer.index = len(*w)
	*w = append(*w, s)
}

// Pop removes the last element.
func (w *timerHeap) Pop() any {
	last := len(*w) - 1
	s := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	s.timer.index = -1
	return s
}
