package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// lockFile is the file in a data folder that the engine locks.
const lockFile = "LOCK"

// lockedFolderError reports a data folder that another process uses.
type lockedFolderError struct {
	dir    string
	holder int // process id; 0: not known
	err    error
}

// withHolder adds to the error of a folder that is in use which process uses it and what can be done.
func withHolder(err error, dir string) error {
	return &lockedFolderError{dir: dir, holder: lockHolder(filepath.Join(dir, lockFile)), err: err}
}

func (e *lockedFolderError) Error() string {
	by := "another process"
	if e.holder > 0 {
		by = fmt.Sprintf("another process (%d)", e.holder)
	}
	return fmt.Sprintf("the data folder %s is in use by %s: stop that process, "+
		"or choose another folder (mayfly serve --data DIR, or --memory)", e.dir, by)
}

func (e *lockedFolderError) Unwrap() error { return e.err }

// holderOf returns the id of the process that has locked a file. locks has the format of /proc/locks:
//
//	1: POSIX  ADVISORY  WRITE 4711 08:01:131073 0 EOF
//
// It returns 0 if no process has locked the file, or if the process is not visible here, as from within a
// container.
func holderOf(locks io.Reader, inode uint64) int {
	suffix := ":" + strconv.FormatUint(inode, 10) // behind the device
	lines := bufio.NewScanner(locks)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] == "->" { // this process waits for the lock
			continue
		}
		if !strings.HasSuffix(fields[5], suffix) {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
