package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMan checks that `mayfly man` writes a manual page for each command with its description and flags,
// and writes the same pages each time.
func TestMan(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if code, _, errs := mayfly(t, "man", dir); code != 0 {
			t.Fatal(errs)
		}
	}
	seen := 0
	for cmd := range everyCommand(rootCommand()) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(one, name))
		if err != nil {
			t.Error(err)
			continue
		}
		again, err := os.ReadFile(filepath.Join(two, name))
		if err != nil || string(again) != string(page) {
			t.Errorf("%s differs from run to run, %v", name, err)
		}
		if !strings.Contains(string(page), ".SH SYNOPSIS") || cmd.Short == "" {
			t.Errorf("%s says too little:\n%s", name, page)
		}
		seen++
	}
	if left := globbed(t, one, "*"); len(left) < seen || seen < 40 {
		t.Errorf("%d files for %d commands", len(left), seen)
	}
	if code, _, _ := mayfly(t, "man", filepath.Join(one, "mayfly.1")); code == 0 {
		t.Error("a file was taken for a folder")
	}
}
