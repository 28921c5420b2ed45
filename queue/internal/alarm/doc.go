// Package alarm calls a function at moments of a clock that can be moved.
package alarm
