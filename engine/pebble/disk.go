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

// space keeps an eye on the free bytes of the disk.
//
// It refuses writes before the disk is full (admit), so that log and manifest, whose failure ends the
// engine's life, always find room. Where a table could not be written for want of room all the same, because
// something else filled the disk or the file system does not tell the truth, it holds the next attempt back
// until an Update has looked again and found room (wait), as Pebble would try again without a pause. After a
// failed flush it also refuses writes until one succeeds (starved), so that no more gather in memory. Where a
// writer is stuck behind a flush already, attempts are not held back: either the next ones find room, or the
// fence trips. Nobody waits for room that may never come.
//
// Asking the file system costs about a microsecond on a local disk and may cost much more on another. So it
// is asked once for each mebibyte written, once a second if there is a clock, and at every Update only while
// there is little left.
type space struct {
	fs      vfs.FS
	dir     string
	reserve int64 // < 0: no check
	now     func() time.Time

	written atomic.Int64 // bytes since the last probe
	probed  atomic.Int64 // second of the last probe
	free    atomic.Int64 // bytes free at the last probe
	low     atomic.Bool  // probe at every Update
	starved atomic.Bool  // the last flush failed for want of room

	mu      sync.Mutex
	cond    sync.Cond
	held    bool // the next table must wait
	stalled bool // a writer waits for a flush
	mode    mode
	failure chan struct{} // closed when the next flush fails; nil: nobody waits for that
}

// mode says whether tables may be held back: not before the end of Open, which waits for its flushes, and not
// once the fence has tripped or Close has begun.
type mode int

const (
	opening mode = iota
	holding
	released
)

const probeEvery = 1 << 20

func newSpace(o Options) *space {
	s := &space{fs: o.FS, dir: o.Dir, reserve: o.DiskReserve, now: o.Now}
	if s.reserve == 0 {
		s.reserve = s.ofDisk()
	}
	s.cond.L = &s.mu
	s.free.Store(math.MaxInt64)
	return s
}

// ofDisk is the reserve of Options that name none: an eighth of the disk, at most defaultDiskReserve.
func (s *space) ofDisk() int64 {
	reserve := int64(defaultDiskReserve)
	if du, err := s.fs.GetDiskUsage(s.dir); err == nil && du.TotalBytes > 0 {
		reserve = int64(min(uint64(reserve), du.TotalBytes/8))
	}
	return reserve
}

// probe asks the file system. One that cannot tell is taken to have room.
func (s *space) probe() {
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

// check is called at the start of each Update: with little room left it looks again.
func (s *space) check() {
	if s.low.Load() {
		s.probe()
	}
}

// admit decides whether a transaction of n bytes may be written. One that frees more than it takes may use
// half of the reserve. A large one must leave half of what is kept.
func (s *space) admit(n int64, frees bool) error {
	if s.starved.Load() {
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
	need = max(need, n+need/2) // so much may go to the log before the disk is asked again
	if free := s.free.Load(); free < need {
		return &engine.ReserveError{Free: free, Reserve: need}
	}
	return nil
}

// noRoom reports whether an error passes once there is room on the disk, or a file descriptor, again.
func noRoom(err error) bool { return vfs.IsNoSpaceError(err) || scarce(err) }

// failed is told of each error on a file that Pebble survives.
func (s *space) failed(k kind, err error) {
	if k == plain || !noRoom(err) {
		return
	}
	if k == flushed {
		s.starved.Store(true)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = s.pacedLocked()
	s.low.Store(true)
	if k == flushed && s.failure != nil {
		close(s.failure)
		s.failure = nil
	}
}

// flushFailed is closed when a flush has failed for want of room: now, where the last one has.
func (s *space) flushFailed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = make(chan struct{})
	}
	failure := s.failure
	if s.starved.Load() {
		close(failure)
		s.failure = nil
	}
	return failure
}

// fed is told that a flush has succeeded.
func (s *space) fed() { s.starved.Store(false) }

// stall is told when a writer begins and ceases to wait for a flush.
func (s *space) stall(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = on
	if on {
		s.held = false
		s.cond.Broadcast()
	}
}

// paces reports whether an error is of a kind that wait keeps from being tried again without a pause.
func (s *space) paces(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pacedLocked() && noRoom(err)
}

func (s *space) pacedLocked() bool { return s.mode == holding && !s.stalled }

// wait holds a new table back while there is no room for it.
func (s *space) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held && s.pacedLocked() {
		s.cond.Wait()
	}
}

// arm allows tables to be held back.
func (s *space) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode == opening {
		s.mode = holding
	}
}

// release lets everybody go, for good.
func (s *space) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = released
	s.cond.Broadcast()
}
