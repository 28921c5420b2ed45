// Package priority lowers the priority of operations that take long, in favour of short ones.
//
// Go has no priorities, so the package uses those of the kernel: work that takes long continues in a thread
// with a higher nice value. The kernel then gives a processor to a short request at once, and the remaining
// time to the long work, which always gets a share. A thread cannot lower its nice value again without
// special rights, so the thread ends with the work.
//
// A thread with lowered priority still counts against GOMAXPROCS. A program should therefore raise
// GOMAXPROCS by the number of long operations that can run at the same time.
//
// Only Linux is supported. On other systems the work runs with normal priority.
package priority
