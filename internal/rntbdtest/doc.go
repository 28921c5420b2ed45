// Package rntbdtest is a client of direct mode for tests. It does not use package rntbd. Like real clients it
// decodes a known token of an answer by the type that clients expect, not by the type in the frame.
package rntbdtest
