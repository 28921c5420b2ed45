package main

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/mayflydb/mayfly/internal/cli"
)

// defaultData returns the default data folder, in the user's folder for application data.
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

// dataFolder returns the data folder by the platform's convention, or "" if the convention gives none.
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
	// the specification says that a relative path must be ignored
	if xdg := getenv("XDG_DATA_HOME"); filepath.IsAbs(xdg) {
		return filepath.Join(xdg, "mayfly")
	}
	return under(home, ".local", "share", "mayfly")
}
