//go:build unix

package main

import "syscall"

// keepFilesPrivate lets whatever file this process makes from now on be its owner's alone: the engine's, too.
func keepFilesPrivate() { syscall.Umask(0o077) }
