//go:build unix

package main

import "syscall"

// keepFilesPrivate makes all files that this process creates from now on, including the engine's, accessible
// only to their owner.
func keepFilesPrivate() { syscall.Umask(0o077) }
