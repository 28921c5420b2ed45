// Package priority lowers the priority of long work in favour of short work.
//
// Go has no priorities, but the kernel has: work that takes long continues in a thread with a higher nice
// value. The kernel then gives a processor to a short request at once, and the remaining time to the long
// work, which always gets a share. Without special rights a thread cannot lower its nice value again, so the
// thread ends with the work.
//
// A thread with lowered priority still counts against GOMAXPROCS. A program that has as many such threads
// must raise GOMAXPROCS by one for each piece of long work that can run at a time.
//
// Only Linux is supported. On other systems the work runs with normal priority.
package priority
