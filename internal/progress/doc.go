// Package progress draws the progress bars of commands.
package progress
