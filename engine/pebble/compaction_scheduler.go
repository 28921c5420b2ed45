package pebble

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// compactionScheduler admits as many concurrent compactions as Pebble allows. It admits none after fenceFS
// has cut off the disk because of a failed write: such a compaction could only fail and be retried at once.
//
// Pebble's own scheduler uses a goroutine that wakes ten times a second, and leaks it if Open fails late. The
// only task of this goroutine is to notice that more compactions are allowed than before. This scheduler
// records that instead, and the next Update starts the compactions when it returns (startWaiting).
type compactionScheduler struct {
	fence *fenceFS
	db    pebble.DBForCompaction
	more  atomic.Bool // more compactions may be allowed than are running

	measured atomic.Uint32 // number of calls of MeasureCPU

	mu   sync.Mutex
	idle sync.Cond // signalled when granting becomes false
	// opened is false until Open succeeds. Until then nothing is admitted: background work during a failing
	// Open would crash the process.
	opened   bool
	running  int
	granting bool
	ended    bool
}

var (
	_ pebble.CompactionScheduler   = (*compactionScheduler)(nil)
	_ pebble.CompactionGrantHandle = (*compactionScheduler)(nil)
)

func newScheduler(f *fenceFS) *compactionScheduler {
	s := &compactionScheduler{fence: f}
	s.idle.L = &s.mu
	return s
}

// Register is called once, by Open.
func (s *compactionScheduler) Register(_ int, db pebble.DBForCompaction) { s.db = db }

// Unregister returns once no call of the database is running. The database is not called afterwards.
func (s *compactionScheduler) Unregister() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for s.granting {
		s.idle.Wait()
	}
}

// TrySchedule is called by Pebble when a compaction could begin, with the database's locks held. It returns
// true, and the handle by which the compaction reports its end, if the compaction may run.
func (s *compactionScheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.roomLocked() {
		return false, nil
	}
	s.running++
	return true, s
}

func (s *compactionScheduler) roomLocked() bool {
	return s.opened && !s.ended && !s.fence.tripped() && s.running < s.db.GetAllowedWithoutPermission()
}

// UpdateGetAllowedWithoutPermission is called with the database's locks held, so it only sets a flag.
func (s *compactionScheduler) UpdateGetAllowedWithoutPermission() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more.Store(s.roomLocked())
}

// startWaiting lets Pebble start the compactions that wait, if more are allowed than are running. Update
// calls it when it returns; the caller must hold no locks.
func (s *compactionScheduler) startWaiting() {
	if s.more.Load() && s.more.CompareAndSwap(true, false) {
		s.mu.Lock()
		s.grantAndUnlock()
	}
}

// open admits compactions from now on. The caller must hold no locks.
func (s *compactionScheduler) open() {
	s.mu.Lock()
	s.opened = true
	s.grantAndUnlock()
}

// Done is called without locks by a compaction that has ended. Another one may start.
func (s *compactionScheduler) Done() {
	s.mu.Lock()
	s.running--
	s.grantAndUnlock()
}

// grantAndUnlock starts waiting compactions. It calls the database without holding the scheduler's lock,
// since the database's locks must be taken first.
func (s *compactionScheduler) grantAndUnlock() {
	defer s.mu.Unlock()
	for s.granting {
		s.idle.Wait()
	}
	s.granting = true
	for s.roomLocked() {
		s.mu.Unlock()
		waiting, _ := s.db.GetWaitingCompaction()
		begun := waiting && s.db.Schedule(s)
		s.mu.Lock()
		if !begun {
			break
		}
		s.running++
	}
	s.granting = false
	s.idle.Broadcast()
}

// Started does nothing: compactions are neither measured nor slowed down.
func (s *compactionScheduler) Started() {}

// yieldEvery is the number of calls of MeasureCPU between two yields of a compaction. A compaction calls it
// every 128 keys, so it yields about once in a millisecond.
const yieldEvery = 8

// MeasureCPU lets other goroutines run, from time to time. A compaction rarely waits for the disk. Without
// yields it would keep its processor until the Go scheduler takes it away after ten milliseconds, while
// requests are ready to run.
func (s *compactionScheduler) MeasureCPU(kind pebble.CompactionGoroutineKind) {
	if kind == pebble.CompactionGoroutinePrimary && s.measured.Add(1)%yieldEvery == 0 {
		runtime.Gosched()
	}
}

// CumulativeStats does nothing.
func (s *compactionScheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}
