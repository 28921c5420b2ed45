//go:build !unix

package main

// keepFilesPrivate does nothing on systems without file modes: files inherit the rights of their folder.
func keepFilesPrivate() {}
