// Package progress shows how far a command has come. On a terminal it redraws one line; in a log it writes a
// line every 10 seconds.
package progress
