// Package rntbdtest is a client of direct mode for tests. It writes and reads frames by itself, not by
// package rntbd, and reads an answer as clients do: a known token by the type that clients give it, whatever
// its own says.
package rntbdtest
