package main

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/mayflydb/mayfly/internal/cli"
)

// defaultData is the data folder in the user's own place for such things.
func defaultData() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	dir := dataFolder(runtime.GOOS, os.Getenv, home)
	if dir == "" {
		return "", cli.Misuse("no home folder to keep the data in: name one with --data, or use --memory")
	}
	return dir, nil
}

// dataFolder decides by the platform's convention; "" where it leads nowhere.
func dataFolder(goos string, getenv func(string) string, home string) string {
	under := func(base string, elem ...string) string {
		if base == "" {
			return ""
		}
		return filepath.Join(append([]string{base}, elem...)...)
	}
	switch goos {
	case "windows":
		return under(getenv("LocalAppData"), "Mayfly")
	case "darwin":
		return under(home, "Library", "Application Support", "Mayfly")
	}
	// a relative one must be ignored, says its specification
	if xdg := getenv("XDG_DATA_HOME"); filepath.IsAbs(xdg) {
		return filepath.Join(xdg, "mayfly")
	}
	return under(home, ".local", "share", "mayfly")
}
