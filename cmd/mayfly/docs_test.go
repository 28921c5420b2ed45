package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestDocsNameEverything: docs/serve.md or docs/service-bus.md has each flag of serve, and docs/commands.md each
// command.
func TestDocsNameEverything(t *testing.T) {
	text := func(names ...string) (all string) {
		for _, name := range names {
			page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
			if err != nil {
				t.Fatal(err)
			}
			all += string(page)
		}
		return all
	}
	flags, commands := text("serve.md", "service-bus.md"), text("commands.md")
	for _, c := range rootCommand().Commands() {
		if !c.Hidden && !strings.Contains(commands, c.Name()) {
			t.Errorf("docs/commands.md has no mayfly %s", c.Name())
		}
	}
	serveCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(flags, "`--"+f.Name+"`") {
			t.Errorf("no page has --%s of serve", f.Name)
		}
	})
}
