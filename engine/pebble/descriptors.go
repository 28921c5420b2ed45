package pebble

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// spareFiles is the number of file descriptors that are reserved for files which the engine must be able to
// open.
const spareFiles = 8

// reservedFileDescriptors holds reserved file descriptors (of the null device). If the process has used up
// its descriptors, a spare one is closed to make room for a log, a manifest or a table of a flush, since the
// engine could not write any more if opening one of these failed. Other files get no spare descriptor: their
// callers survive the error.
type reservedFileDescriptors struct {
	mu    sync.Mutex
	files []*os.File
	used  bool // fill was called and close was not: refill replaces used descriptors
}

// fill opens spare file descriptors, as many as are missing and as the process may open. They are kept in
// reserve for files that the engine must be able to open.
func (s *reservedFileDescriptors) fill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	s.fillLocked()
}

func (s *reservedFileDescriptors) fillLocked() {
	for len(s.files) < spareFiles {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		s.files = append(s.files, f)
	}
}

// closeOne closes one spare descriptor. It returns false if there is none.
func (s *reservedFileDescriptors) closeOne() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.files)
	if n == 0 {
		return false
	}
	_ = s.files[n-1].Close() // the null device: an error does not matter
	s.files = s.files[:n-1]
	return true
}

func (s *reservedFileDescriptors) close() {
	s.mu.Lock()
	s.used = false
	s.mu.Unlock()
	for s.closeOne() {
	}
}

// refill opens spare file descriptors again, in place of those that were closed to make room for a file. It
// does nothing before fill and after close.
func (s *reservedFileDescriptors) refill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used {
		s.fillLocked()
	}
}

// openWithSpare runs open, which needs a descriptor. If there is none left, it frees a spare one and runs
// open again.
func (s *reservedFileDescriptors) openWithSpare(open func() error) error {
	err := open()
	for outOfDescriptors(err) && s.closeOne() {
		err = open()
	}
	if err == nil {
		s.refill()
	}
	return err
}

// outOfDescriptors reports whether an error means that the process or the machine has no file descriptor
// left.
func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// mostTables is the maximum number of tables that an engine keeps open: enough for 100 GB at the table
// sizes of the lower levels, and below the usual limit of 1,024 descriptors.
const mostTables = 512

// openTables returns how many tables an engine keeps open: at most a third of the descriptors that the
// process may have.
func openTables() int { return max(16, min(mostTables, DescriptorLimit()/3)) }

// DescriptorShare returns how many file descriptors an engine on disk uses at most, including some for files
// that are being written. The rest of the process should leave that many free.
func DescriptorShare() int { return openTables() + spareFiles + 24 }
