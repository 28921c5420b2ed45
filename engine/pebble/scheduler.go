package pebble

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// scheduler admits compactions: as many at a time as Pebble itself allows, and none once the fence has
// tripped, since a compaction could only fail then, be tried again at once, and fail again.
//
// Pebble's own scheduler does the first with a goroutine that wakes ten times a second, and leaks it where
// Open fails late. All that this goroutine is needed for is to notice that more compactions are allowed than
// before. Here that is noted, and the next Update that returns acts on it (nudge).
type scheduler struct {
	fence *fence
	db    pebble.DBForCompaction
	more  atomic.Bool // more compactions may be allowed than run

	mu   sync.Mutex
	idle sync.Cond // granting has become false
	// before, nothing is admitted: what runs in the background while Open fails brings the process down
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

// Unregister returns once the database is no longer called, and will not be again.
func (s *scheduler) Unregister() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for s.granting {
		s.idle.Wait()
	}
}

// TrySchedule is asked when a compaction could begin. It is called with the database's locks held.
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

// UpdateGetAllowedWithoutPermission is called with the database's locks held, so it can only take a note.
func (s *scheduler) UpdateGetAllowedWithoutPermission() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more.Store(s.roomLocked())
}

// nudge lets compactions begin that have been waiting for no reason any more. No locks may be held.
func (s *scheduler) nudge() {
	if s.more.Load() && s.more.CompareAndSwap(true, false) {
		s.mu.Lock()
		s.grantAndUnlock()
	}
}

// open admits compactions from now on. No locks may be held.
func (s *scheduler) open() {
	s.mu.Lock()
	s.opened = true
	s.grantAndUnlock()
}

// Done is called by a compaction that has ended, without locks: another may take its place.
func (s *scheduler) Done() {
	s.mu.Lock()
	s.running--
	s.grantAndUnlock()
}

// grantAndUnlock lets waiting compactions begin. The database is called without the lock, which comes after
// its own.
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

// Started implements pebble.CompactionGrantHandle; compactions are neither measured nor slowed down.
func (s *scheduler) Started() {}

// MeasureCPU implements pebble.CompactionGrantHandle.
func (s *scheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements pebble.CompactionGrantHandle.
func (s *scheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}
