package pebble

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mayflydb/mayfly/engine"
)

// diskSpaceMonitor watches the free space of the disk, in bytes.
//
// It refuses writes before the disk is full (admit), so that the log and the manifest always find room: the
// engine does not survive a failed write to them. Writing a table may fail all the same, because another
// program fills the disk or the file system reports a wrong number. Then diskSpaceMonitor delays the next
// attempt until an Update has found enough free bytes (wait), since Pebble would retry without a pause. After
// a failed flush it also refuses writes until a flush succeeds (starved), so that memory does not fill up. If
// a writer already waits for a flush, attempts are not delayed: either one of them succeeds, or
// memoryAfterWriteErrorFS cuts off the disk. So no writer waits for ever.
//
// Asking the file system costs about a microsecond on a local disk and may cost much more on others. So
// diskSpaceMonitor asks once for each mebibyte written and once a second if there is a clock. It asks at
// every Update only while little room is left.
type diskSpaceMonitor struct {
	fs      vfs.FS
	dir     string
	reserve int64 // < 0: no check
	now     func() time.Time

	written      atomic.Int64 // bytes since the last probe
	probed       atomic.Int64 // second of the last probe
	free         atomic.Int64 // bytes free at the last probe
	low          atomic.Bool  // little room is left: probe at every Update
	flushFailing atomic.Bool  // the last flush failed for want of room

	mu      sync.Mutex
	cond    sync.Cond
	held    bool // the creation of the next table must wait
	stalled bool // a writer waits for a flush
	mode    sstCreationDelayState
	failure chan struct{} // closed when the next flush fails; nil: nobody waits for a failure
}

// sstCreationDelayState says whether the creation of Pebble's tables (SST files) may be delayed while the
// disk is full. It must not be delayed before the end of Open, which waits for flushes, nor after Close has
// begun or memoryAfterWriteErrorFS has cut off the disk because of a write error.
type sstCreationDelayState int

const (
	opening sstCreationDelayState = iota
	holding
	released
)

const probeEvery = 1 << 20

func newSpace(o Options) *diskSpaceMonitor {
	s := &diskSpaceMonitor{fs: o.FS, dir: o.Dir, reserve: o.DiskReserve, now: o.Now}
	if s.reserve == 0 {
		s.reserve = s.defaultReserve()
	}
	s.cond.L = &s.mu
	s.free.Store(math.MaxInt64)
	return s
}

// defaultReserve returns the default reserve: an eighth of the disk, at most defaultDiskReserve.
func (s *diskSpaceMonitor) defaultReserve() int64 {
	reserve := int64(defaultDiskReserve)
	if du, err := s.fs.GetDiskUsage(s.dir); err == nil && du.TotalBytes > 0 {
		reserve = int64(min(uint64(reserve), du.TotalBytes/8))
	}
	return reserve
}

// probe asks the file system for the free bytes. If it cannot report them, the disk counts as having room.
func (s *diskSpaceMonitor) probe() {
	if s.reserve >= 0 {
		s.written.Store(0)
		if s.now != nil {
			s.probed.Store(s.now().Unix())
		}
		free := int64(math.MaxInt64)
		if du, err := s.fs.GetDiskUsage(s.dir); err == nil && du.AvailBytes < math.MaxInt64 {
			free = int64(du.AvailBytes)
		}
		s.free.Store(free)
		s.low.Store(free < s.reserve+4*probeEvery)
		if free < s.reserve {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	s.cond.Broadcast()
}

// check is called at the start of each Update. It asks the file system for the free space again if the last
// answer was that little is left.
func (s *diskSpaceMonitor) check() {
	if s.low.Load() {
		s.probe()
	}
}

// admit decides whether a transaction of n bytes may be written. A transaction that frees more than it writes
// needs only half of the reserve. For a large transaction, half of the reserve must remain free after it.
func (s *diskSpaceMonitor) admit(n int64, frees bool) error {
	if s.flushFailing.Load() {
		return fmt.Errorf("%w: the last flush found no room, or no file descriptor", engine.ErrDiskFull)
	}
	if s.reserve < 0 {
		return nil
	}
	if s.written.Add(n) >= probeEvery || s.now != nil && s.now().Unix() != s.probed.Load() {
		s.probe()
	}
	need := s.reserve
	if frees {
		need /= 2
	}
	need = max(need, n+need/2) // the log may grow by n bytes before the next probe
	if free := s.free.Load(); free < need {
		return &engine.DiskReserveError{Free: free, Reserve: need}
	}
	return nil
}

// noRoom reports whether an error is caused by a full disk or by a lack of file descriptors.
func noRoom(err error) bool { return vfs.IsNoSpaceError(err) || outOfDescriptors(err) }

// failed records an error on a file of the kind k. If the reason is a lack of room (free space or file
// descriptors), wait blocks the creation of tables from then on. It ignores other errors, and those on
// files of the kind plain.
func (s *diskSpaceMonitor) failed(k fileErrorConsequence, err error) {
	if k == plain || !noRoom(err) {
		return
	}
	if k == flushed {
		s.flushFailing.Store(true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = s.delaysLocked()
	s.low.Store(true)
	if k == flushed && s.failure != nil {
		close(s.failure)
		s.failure = nil
	}
}

// flushFailed returns a channel that is closed when a flush fails for want of room. If the last flush has
// failed that way, the channel is already closed.
func (s *diskSpaceMonitor) flushFailed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = make(chan struct{})
	}
	failure := s.failure
	if s.flushFailing.Load() {
		close(failure)
		s.failure = nil
	}
	return failure
}

// flushSucceeded records that a flush has succeeded.
func (s *diskSpaceMonitor) flushSucceeded() { s.flushFailing.Store(false) }

// stall records that a writer begins (on) or ends waiting for a flush.
func (s *diskSpaceMonitor) stall(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = on
	if on {
		s.held = false
		s.cond.Broadcast()
	}
}

// delaysRetry reports whether Pebble's next attempt to create a table will be blocked by wait, because err
// says that the disk is full or that there are no free file descriptors.
func (s *diskSpaceMonitor) delaysRetry(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delaysLocked() && noRoom(err)
}

func (s *diskSpaceMonitor) delaysLocked() bool { return s.mode == holding && !s.stalled }

// wait blocks the creation of a table while the disk has no room for it.
func (s *diskSpaceMonitor) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held && s.delaysLocked() {
		s.cond.Wait()
	}
}

// enableDelays is called at the end of Open. From then on wait may delay the creation of tables.
func (s *diskSpaceMonitor) enableDelays() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode == opening {
		s.mode = holding
	}
}

// release ends all waits for free disk space. Later calls do not wait any more.
func (s *diskSpaceMonitor) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = released
	s.cond.Broadcast()
}
