package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// fakeCompactionDB imitates a Pebble database for a compactionScheduler. It counts the compactions that
// wait and those that ran. It ends a compaction as soon as it has started.
type fakeCompactionDB struct {
	s       *compactionScheduler
	waiting int
	ran     int
}

func (q *fakeCompactionDB) GetAllowedWithoutPermission() int { return 1 }

func (q *fakeCompactionDB) GetWaitingCompaction() (bool, pebble.WaitingCompaction) {
	return q.waiting > 0, pebble.WaitingCompaction{}
}

func (q *fakeCompactionDB) Schedule(pebble.CompactionGrantHandle) bool {
	if q.waiting == 0 {
		return false
	}
	q.waiting = 0
	q.ran++
	return true
}

// flush imitates the end of a flush: it asks the scheduler to admit the compaction that the flush makes
// possible, and then starts waiting compactions as the end of an Update does.
func (q *fakeCompactionDB) flush() {
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

func newCompactionQueue() *fakeCompactionDB {
	s := newScheduler(&memoryAfterWriteErrorFS{})
	q := &fakeCompactionDB{s: s}
	s.Register(1, q)
	s.open()
	return q
}

// TestCompactionsWaitForFlushes checks that, while nothing is read, a compaction starts only after every
// maxUnreadFlushes flushes.
func TestCompactionsWaitForFlushes(t *testing.T) {
	q := newCompactionQueue()
	for n := range 3 * maxUnreadFlushes {
		q.flush()
		if want := (n + 1) / maxUnreadFlushes; q.ran != want {
			t.Fatalf("%d compactions after %d flushes, not %d", q.ran, n+1, want)
		}
	}
}

// TestReadsStartCompactions checks that a read starts the compactions that wait, and that later
// compactions wait again for the next read.
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

// TestRangeDeletesStartCompactions checks that compactions do not wait for a read or for more flushes
// after a range of keys was deleted, so that its disk space is freed.
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
