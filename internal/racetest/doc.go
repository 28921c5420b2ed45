// Package racetest tells tests how much they may repeat themselves: less under the race detector, which makes
// everything some ten times slower, and more with -tags long.
//
// A test in which one goroutine does everything has nothing for the detector to find: it begins with
//
//	racetest.Sequential(t)
//
// if it is long. One that repeats itself does less of the same where [On] is true, but keeps what goes on
// side by side.
package racetest
