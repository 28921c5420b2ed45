package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// compactionQueue is a database in which a number of compactions wait. A compaction ends at once.
type compactionQueue struct {
	s       *compactionScheduler
	waiting int
	ran     int
}

func (q *compactionQueue) GetAllowedWithoutPermission() int { return 1 }

func (q *compactionQueue) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return q.waiting > 0, pebble.WaitingCompaction{}
}

func (q *compactionQueue) Schedule(pebble.CompactionGrantHandle) bool {
	if q.waiting == 0 {
		return false
	}
	q.waiting = 0
	q.ran++
	return true
}

// flush ends a flush, after which a compaction could begin, and then an Update.
func (q *compactionQueue) flush() {
	q.s.flushed()
	if q.waiting == 0 {
		if ok, _ := q.s.TrySchedule(); ok {
			q.ran++
		} else {
			q.waiting++
		}
	}
	q.s.startWaiting()
	if q.s.running > 0 {
		q.s.Done()
	}
}

func newCompactionQueue() *compactionQueue {
	s := newScheduler(&fenceFS{})
	q := &compactionQueue{s: s}
	s.Register(1, q)
	s.open()
	return q
}

// Compactions wait for several flushes while nothing is read.
func TestCompactionsWaitForFlushes(t *testing.T) {
	q := newCompactionQueue()
	for n := range 3 * maxUnreadFlushes {
		q.flush()
		if want := (n + 1) / maxUnreadFlushes; q.ran != want {
			t.Fatalf("%d compactions after %d flushes, not %d", q.ran, n+1, want)
		}
	}
}

// A read starts the compactions that wait, and no others.
func TestReadsStartCompactions(t *testing.T) {
	q := newCompactionQueue()
	q.s.beforeRead()
	for n := range 3 {
		q.flush()
		if q.ran != n {
			t.Fatalf("%d compactions before %d reads", q.ran, n+1)
		}
		q.s.beforeRead()
		if q.ran != n+1 {
			t.Fatalf("%d compactions after %d reads", q.ran, n+1)
		}
		q.s.Done()
		q.s.beforeRead()
	}
}

// The space of a deleted range is given back although nothing is read.
func TestRangeDeletesStartCompactions(t *testing.T) {
	q := newCompactionQueue()
	q.s.rangeDeleted()
	q.s.startWaiting()
	for range 2 { // the range delete is in the second flush, if the first has already begun
		q.flush()
	}
	if q.ran != 2 {
		t.Errorf("%d compactions", q.ran)
	}
	q.flush()
	if q.ran != 2 {
		t.Error("compactions do not wait any more")
	}
}
