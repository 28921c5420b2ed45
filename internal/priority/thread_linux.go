package priority

import "golang.org/x/sys/unix"

// Supported reports whether the operating system has a priority for each thread.
const Supported = true

func threadID() int { return unix.Gettid() }

// lowerThread raises the nice value of a thread. In Linux, unlike in POSIX, each thread has its own nice
// value. A failure is ignored: the work then runs with normal priority.
func lowerThread(id, by int) {
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, id); err == nil {
		// the system call returns 20 minus the nice value
		_ = unix.Setpriority(unix.PRIO_PROCESS, id, min(20-now+by, 19))
	}
}
