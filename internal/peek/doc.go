// Package peek reads the first byte of a connection without taking it from the reader behind: servers that
// speak several protocols on one port tell them apart by it.
package peek
