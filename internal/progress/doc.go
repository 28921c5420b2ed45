// Package progress reports how far a command is: by a bar on a terminal, by a line now and then in a log.
package progress
