package main

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/engine"
)

// The exit codes are part of the command's contract; see the package's documentation.
const (
	exitFailed = 1
	exitUsage  = 2
	exitPort   = 3
	exitLocked = 4
	exitData   = 5
	exitDisk   = 6
)

// failure is an error of a command that was called rightly.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// code classifies the error. It is the only place that knows exit codes and their causes.
func (f *failure) code() int {
	var usage *usageError
	var listen *listenError
	switch {
	case errors.As(f.err, &usage):
		return exitUsage
	case errors.As(f.err, &listen):
		return exitPort
	case errors.Is(f.err, engine.ErrLocked):
		return exitLocked
	case errors.Is(f.err, engine.ErrCorrupt), errors.Is(f.err, engine.ErrNewerFormat),
		errors.Is(f.err, engine.ErrOlderFormat), errors.Is(f.err, engine.ErrNotDatabase):
		return exitData
	case errors.Is(f.err, engine.ErrDiskFull), errors.Is(f.err, engine.ErrFailed),
		errors.Is(f.err, fs.ErrPermission), errors.Is(f.err, syscall.ENOSPC), errors.Is(f.err, syscall.EROFS):
		return exitDisk
	}
	return exitFailed
}

// run makes a cobra handler of f, whose errors are failures rather than misuse.
func run(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f(cmd, args); err != nil {
			return &failure{err}
		}
		return nil
	}
}

// runWithVariables is run for a command whose flags may be given as variables, too.
func runWithVariables(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return run(func(cmd *cobra.Command, args []string) error {
		if _, err := applyVariables(cmd.Flags(), os.LookupEnv); err != nil {
			return err
		}
		return f(cmd, args)
	})
}

// usageError is a value that a flag, a variable or an argument must not have.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

// listenError is an address that cannot be listened on.
type listenError struct {
	address string
	err     error
}

func (e *listenError) Error() string {
	if e.inUse() {
		return "port in use: something else listens on " + e.address +
			" (choose another with --port, 0 for any free one)"
	}
	return "cannot listen on " + e.address + ": " + e.err.Error()
}

func (e *listenError) Unwrap() error { return e.err }

// inUse tells whether another socket has the address. Windows reports its own number for that.
func (e *listenError) inUse() bool {
	const wsaeAddrInUse = syscall.Errno(10048)
	return errors.Is(e.err, syscall.EADDRINUSE) || runtime.GOOS == "windows" &&
		errors.Is(e.err, wsaeAddrInUse)
}
