package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestDocsMentionCommandsAndFlags checks that the documentation in docs mentions each command, and each flag
// of `mayfly serve`.
func TestDocsMentionCommandsAndFlags(t *testing.T) {
	t.Parallel()
	var pages strings.Builder
	docs := filepath.Join("..", "..", "docs")
	err := filepath.WalkDir(docs, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		pages.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text := pages.String()
	for _, c := range rootCommand().Commands() {
		if !c.Hidden && !strings.Contains(text, "mayfly "+c.Name()) {
			t.Errorf("no page has mayfly %s", c.Name())
		}
	}
	serveCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(text, "`--"+f.Name+"`") {
			t.Errorf("no page has --%s of serve", f.Name)
		}
	})
}
