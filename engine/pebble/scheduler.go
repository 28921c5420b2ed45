package pebble

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// scheduler admits as many concurrent compactions as Pebble allows, and none once the fence has tripped:
// after that, a compaction could only fail and be retried at once.
//
// Pebble's own scheduler uses a goroutine that wakes ten times a second, and leaks it if Open fails late.
// The only task of this goroutine is to notice that more compactions are allowed than before. This
// scheduler records that instead, and the next Update starts the compactions when it returns
// (startWaiting).
type scheduler struct {
	fence *fence
	db    pebble.DBForCompaction
	more  atomic.Bool // more compactions may be allowed than are running

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
	_ pebble.CompactionScheduler   = (*scheduler)(nil)
	_ pebble.CompactionGrantHandle = (*scheduler)(nil)
)

func newScheduler(f *fence) *scheduler {
	s := &scheduler{fence: f}
	s.idle.L = &s.mu
	return s
}

// Register is called once, by Open.
func (s *scheduler) Register(_ int, db pebble.DBForCompaction) { s.db = db }

// Unregister returns once no call of the database is running. The database is not called afterwards.
func (s *scheduler) Unregister() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for s.granting {
		s.idle.Wait()
	}
}

// TrySchedule is called by Pebble when a compaction could begin, with the database's locks held. It returns
// true, and the handle by which the compaction reports its end, if the compaction may run.
func (s *scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.roomLocked() {
		return false, nil
	}
	s.running++
	return true, s
}

func (s *scheduler) roomLocked() bool {
	return s.opened && !s.ended && !s.fence.tripped() && s.running < s.db.GetAllowedWithoutPermission()
}

// UpdateGetAllowedWithoutPermission is called with the database's locks held, so it only sets a flag.
func (s *scheduler) UpdateGetAllowedWithoutPermission() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more.Store(s.roomLocked())
}

// startWaiting starts compactions that wait although they are allowed. The caller must hold no locks.
func (s *scheduler) startWaiting() {
	if s.more.Load() && s.more.CompareAndSwap(true, false) {
		s.mu.Lock()
		s.grantAndUnlock()
	}
}

// open admits compactions from now on. The caller must hold no locks.
func (s *scheduler) open() {
	s.mu.Lock()
	s.opened = true
	s.grantAndUnlock()
}

// Done is called without locks by a compaction that has ended. Another one may start.
func (s *scheduler) Done() {
	s.mu.Lock()
	s.running--
	s.grantAndUnlock()
}

// grantAndUnlock starts waiting compactions. It calls the database without holding the scheduler's lock,
// since the database's locks must be taken first.
func (s *scheduler) grantAndUnlock() {
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
func (s *scheduler) Started() {}

// MeasureCPU does nothing.
func (s *scheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats does nothing.
func (s *scheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}
