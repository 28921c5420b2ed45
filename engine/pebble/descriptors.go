package pebble

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// spareFiles is how many file descriptors are kept for files that the engine cannot do without.
const spareFiles = 8

// spares are open files that nobody needs. Where a process has used up its descriptors, one of them makes
// room for a log, a manifest or a table of a flush, whose failure would end the engine's writing: the others
// who run out get an error that they survive.
type spares struct {
	mu    sync.Mutex
	files []*os.File
	used  bool // fill was called, and close was not: what was given is made good
}

// fill opens what is missing, as far as that is possible now.
func (s *spares) fill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	s.fillLocked()
}

func (s *spares) fillLocked() {
	for len(s.files) < spareFiles {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		s.files = append(s.files, f)
	}
}

// give closes one; false where there is none.
func (s *spares) give() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.files)
	if n == 0 {
		return false
	}
	_ = s.files[n-1].Close() // of the null device
	s.files = s.files[:n-1]
	return true
}

func (s *spares) close() {
	s.mu.Lock()
	s.used = false
	s.mu.Unlock()
	for s.give() {
	}
}

// refill makes good what was given.
func (s *spares) refill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used {
		s.fillLocked()
	}
}

// opened runs open, which needs a descriptor, and again with a spare one where there was none.
func (s *spares) opened(open func() error) error {
	err := open()
	for scarce(err) && s.give() {
		err = open()
	}
	if err == nil {
		s.refill()
	}
	return err
}

// scarce reports whether an error says that the process or the machine has no file descriptor left.
func scarce(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// mostTables is how many tables an engine keeps open where descriptors are plenty: enough for 100 GB at the
// sizes of the lower levels, and below the usual limit of 1,024 descriptors.
const mostTables = 512

// openTables is how many tables an engine keeps open: at most a third of the descriptors that the process may
// have.
func openTables() int { return max(16, min(mostTables, DescriptorLimit()/3)) }

// DescriptorShare is how many file descriptors an engine on disk takes at most, some for files that are being
// written included: what else the process opens should leave that many.
func DescriptorShare() int { return openTables() + spareFiles + 24 }
