// Package racetest says how often tests repeat their steps: less often with the race detector, which makes
// tests about ten times slower, and more often with -tags long.
//
// The race detector cannot find anything in a test with a single goroutine. If such a test is long, it
// begins with
//
//	racetest.Sequential(t)
//
// which skips it. A test with several goroutines repeats its steps less often if [On] is true, with the same
// number of goroutines.
package racetest
