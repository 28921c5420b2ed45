// Package racetest says how often tests repeat themselves: less under the race detector, which makes them
// about ten times slower, and more with -tags long.
//
// A test in which one goroutine does everything has nothing for the detector to find: it begins with
//
//	racetest.Sequential(t)
//
// if it is long. A test that repeats something repeats it less often if [On] is true, but keeps its
// concurrency.
package racetest
