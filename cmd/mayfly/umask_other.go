//go:build !unix

package main

// keepFilesPrivate does nothing, since this system has no file modes: files inherit the permissions of their
// folder.
func keepFilesPrivate() {}
