// Package peekconn reads the first byte of a connection without consuming it. Servers use it to detect the
// protocol if several protocols share a port.
package peekconn
