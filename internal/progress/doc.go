// Package progress reports the progress of a command: as a bar on a terminal, else as occasional log lines.
package progress
