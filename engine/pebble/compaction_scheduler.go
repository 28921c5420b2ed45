package pebble

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// compactionScheduler admits as many concurrent compactions as Pebble allows. It admits none after
// memoryAfterWriteErrorFS has cut off the disk because of a failed write: such a compaction could only fail
// and be retried at once.
//
// Pebble's own scheduler uses a goroutine that wakes ten times a second, and leaks it if Open fails late. The
// only task of this goroutine is to notice that more compactions are allowed than before. This scheduler
// records that instead, and the next Update starts the compactions when it returns (startWaiting).
//
// While the engine is only written to, compactions wait until maxUnreadFlushes memory tables have been
// flushed. A compaction of level 0 rewrites the next level whatever the size of level 0, so compactions of
// four tables together rewrite it a quarter as often. Reads must merge the tables of level 0, so the first
// read after a flush starts the compactions that wait (beforeRead).
type compactionScheduler struct {
	fence *memoryAfterWriteErrorFS
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
	// admitting is false while compactions wait for more flushes or for a read.
	admitting bool
	flushes   int // number of flushes since compactions were last admitted
	// unflushedDeletes is the number of flushes to wait for after a range delete, until it is certainly in
	// tables. While it is not 0, compactions are not put off, since they free the disk space of the range.
	unflushedDeletes int

	deferring atomic.Bool // a compaction waits because admitting is false
}

// maxUnreadFlushes is the number of flushes after which compactions begin even if nothing is read. So level 0
// has about as many layers of tables at most.
const maxUnreadFlushes = 4

var (
	_ pebble.CompactionScheduler   = (*compactionScheduler)(nil)
	_ pebble.CompactionGrantHandle = (*compactionScheduler)(nil)
)

func newScheduler(f *memoryAfterWriteErrorFS) *compactionScheduler {
	s := &compactionScheduler{fence: f, admitting: true}
	s.idle.L = &s.mu
	return s
}

// Register stores the database whose compactions are scheduled. Pebble calls it once, in Open.
func (s *compactionScheduler) Register(_ int, db pebble.DBForCompaction) { s.db = db }

// Unregister stops the scheduler: it waits until no call of the database by the scheduler is running. The
// scheduler does not call the database afterwards.
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
	if !s.admitting {
		s.deferring.Store(true)
	}
	if !s.roomLocked() {
		return false, nil
	}
	s.running++
	return true, s
}

func (s *compactionScheduler) roomLocked() bool {
	return s.opened && s.admitting && !s.ended && !s.fence.tripped() &&
		s.running < s.db.GetAllowedWithoutPermission()
}

// UpdateGetAllowedWithoutPermission is called by Pebble, with the database's locks held, when it may allow
// more compactions than before. It only sets the flag by which the next Update starts them.
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

// flushed counts a flush of a memory table, and admits compactions after maxUnreadFlushes of them. It is
// called with the database's locks held.
func (s *compactionScheduler) flushed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushes++
	s.unflushedDeletes = max(0, s.unflushedDeletes-1)
	if s.flushes >= maxUnreadFlushes {
		s.admitLocked()
	}
}

// admitLocked permits the compactions that the scheduler has put off. The next call of startWaiting starts
// them. The caller holds the lock.
func (s *compactionScheduler) admitLocked() {
	s.admitting = true
	s.deferring.Store(false)
	s.more.Store(true)
}

// beforeRead is called by a read. It starts the compactions that have been put off because nothing was read.
// The caller must hold no locks.
func (s *compactionScheduler) beforeRead() {
	if s.deferring.Load() {
		s.mu.Lock()
		s.admitLocked()
		s.mu.Unlock()
		s.startWaiting()
	}
}

// rangeDeleted is called by a transaction that has deleted a range of keys. From then on compactions are
// not put off, until they have freed the disk space of the range.
func (s *compactionScheduler) rangeDeleted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unflushedDeletes = 2 // the first of these flushes may have begun already
	s.admitLocked()
}

// open admits compactions from now on. The caller must hold no locks.
func (s *compactionScheduler) open() {
	s.mu.Lock()
	s.opened = true
	s.grantAndUnlock()
}

// Done is called by Pebble, without locks, when a compaction has ended. It starts the next waiting
// compaction, if it is admitted.
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
		flushes := s.flushes
		s.mu.Unlock()
		waiting, _ := s.db.GetWaitingCompaction()
		begun := waiting && s.db.Schedule(s)
		s.mu.Lock()
		if !begun {
			s.flushes -= flushes
			s.admitting = s.running > 0 || s.unflushedDeletes > 0
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

// CumulativeStats does nothing: the scheduler does not use the statistics that a running compaction
// reports.
func (s *compactionScheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}
