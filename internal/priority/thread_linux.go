package priority

import "golang.org/x/sys/unix"

// Supported reports that the system has threads that stand back.
const Supported = true

func threadID() int { return unix.Gettid() }

// lowerThread makes a thread nicer. Linux keeps that by thread, whatever POSIX says. That it fails is of no
// consequence: the work runs as all other does.
func lowerThread(id, by int) {
	if now, err := unix.Getpriority(unix.PRIO_PROCESS, id); err == nil {
		// the system call tells 20 less the value
		_ = unix.Setpriority(unix.PRIO_PROCESS, id, min(20-now+by, 19))
	}
}
