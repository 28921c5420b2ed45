package main

import (
	"errors"
	"io/fs"
	"runtime"
	"syscall"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/cli"
)

// The exit codes of mayfly. Scripts rely on them; the package's documentation explains each.
const (
	exitFailed = 1
	exitUsage  = 2
	exitPort   = 3
	exitLocked = 4
	exitData   = 5
	exitDisk   = 6
)

// exitCode returns the exit code for the error of a command. It is the only place that maps causes to exit
// codes.
func exitCode(f *cli.CommandError) int {
	var usage *cli.UsageError
	var listen *listenError
	var refusal *cli.ResponseError
	switch {
	case errors.As(f, &usage):
		return exitUsage
	case errors.As(f, &listen):
		return exitPort
	case errors.Is(f, engine.ErrLocked):
		return exitLocked
	case errors.Is(f, engine.ErrCorrupt), errors.Is(f, engine.ErrIncomplete), errors.Is(f, engine.ErrMoved),
		errors.Is(f, engine.ErrNewerFormat),
		errors.Is(f, engine.ErrOlderFormat), errors.Is(f, engine.ErrNotDatabase):
		return exitData
	case errors.As(f, &refusal) && refusal.Code == cli.InsufficientStorage,
		errors.Is(f, engine.ErrDiskFull), errors.Is(f, engine.ErrFailed),
		errors.Is(f, fs.ErrPermission), errors.Is(f, syscall.ENOSPC), errors.Is(f, syscall.EROFS):
		return exitDisk
	}
	return exitFailed
}

// listenError reports an address that cannot be listened on.
type listenError struct {
	address string
	mayfly  bool // a Mayfly server listens there
	err     error
}

func (e *listenError) Error() string {
	if e.inUse() {
		by := "another program listens on " + e.address
		if e.mayfly {
			by = "a Mayfly server is running on " + e.address + " already"
		}
		return "port in use: " + by + " (choose another with --port, or with that port's own flag; " +
			"0 for any free one)"
	}
	return "cannot listen on " + e.address + ": " + e.err.Error()
}

func (e *listenError) Unwrap() error { return e.err }

// inUse reports whether the address is in use by another socket. Windows has its own error number for that.
func (e *listenError) inUse() bool {
	const wsaeAddrInUse = syscall.Errno(10048)
	return errors.Is(e.err, syscall.EADDRINUSE) || runtime.GOOS == "windows" &&
		errors.Is(e.err, wsaeAddrInUse)
}
