//go:build !unix

package main

// keepFilesPrivate has nothing to do where files have no modes: they inherit the rights of their folder.
func keepFilesPrivate() {}
