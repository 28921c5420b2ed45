// Package rntbdtest is a client of direct mode for tests. It does not use package rntbd. Like real clients,
// it decodes a known token of a response with the type that clients expect, not with the type in the frame.
package rntbdtest
