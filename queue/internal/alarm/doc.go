// Package alarm calls a function at given times of a clock that can be moved.
package alarm
