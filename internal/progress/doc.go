// Package progress shows how far a command is: as a line that is redrawn on a terminal, as a line every 10
// seconds in a log.
package progress
