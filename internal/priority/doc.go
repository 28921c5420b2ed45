// Package priority runs long work so that it stands back for short work.
//
// Go has no priorities, but the kernel has: work that has turned out to be long goes on in a thread that is
// nicer than the others. The kernel then gives a processor to a short request as soon as it is there, and
// the long work gets what is left, and a share of it in any case. A thread cannot become less nice again
// without rights that a server should not have; so it ends with the work.
//
// A thread that stands back keeps the place that it has among those that run Go code (GOMAXPROCS). A program
// that has as many of these as processors must have more, by one for each piece of long work at a time.
//
// It is so on Linux. Elsewhere the work runs as all other does.
package priority
