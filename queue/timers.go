package queue

import (
	"container/heap"
	"context"
	"sync"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
)

// timers bring what happens at a moment where nobody asks: locks lapse, and what is scheduled arrives. One
// goroutine does it for all stores of a dataset. What has happened by a moment does not depend on it: a
// receive, and the reaper, see to their store by themselves.
type timers struct {
	*alarm
	m    *dataset
	mu   sync.Mutex // guards what follows
	heap timerHeap
	open []*Transaction
}

// retryTimer is after how many milliseconds a store is tried again that has failed.
const retryTimer = 1000

func newTimers(m *dataset) *timers {
	t := &timers{m: m}
	t.alarm = newAlarm(m, t.tick)
	return t
}

// arm sees to it that a store is looked at when a moment has come.
func (t *timers) arm(s *messageStore, at int64) {
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
		t.wakeUp()
	}
}

// tick sees to the stores whose time has come, and reports when the next one's comes.
func (t *timers) tick(ctx context.Context, now int64) (first int64) {
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
		s := heap.Pop(&t.heap).(*messageStore)
		t.mu.Unlock()
		if _, err := s.tick(ctx); err != nil {
			if entity.CodeOf(err) == entity.CodeEntityNotFound {
				continue // it was deleted
			}
			if ctx.Err() == nil {
				t.m.logger().Warn("a timer of a queue failed", "entity", s.name(), "error", err)
			}
			t.arm(s, now+retryTimer)
			continue
		}
		t.arm(s, s.nextWakeup())
	}
	return host.Never
}

// first is the moment in which something is due. The caller holds the mutex.
func (t *timers) first() int64 {
	first := int64(host.Never)
	if len(t.heap) > 0 {
		first = t.heap[0].timer.at
	}
	for _, tx := range t.open {
		first = min(first, tx.until)
	}
	return first
}

// timer is when the timers come to a store, and where it is in their heap. Their mutex guards it.
type timer struct {
	at    int64
	index int // -1: it is in none
}

// timerHeap are stores by their wake-ups.
type timerHeap []*messageStore

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (w timerHeap) Len() int { return len(w) }

// Less orders by the moment.
func (w timerHeap) Less(i, j int) bool { return w[i].timer.at < w[j].timer.at }

// Swap exchanges two.
func (w timerHeap) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].timer.index, w[j].timer.index = i, j
}

// Push adds one.
func (w *timerHeap) Push(x any) {
	s := x.(*messageStore)
	s.timer.index = len(*w)
	*w = append(*w, s)
}

// Pop takes the last one away.
func (w *timerHeap) Pop() any {
	last := len(*w) - 1
	s := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	s.timer.index = -1
	return s
}
