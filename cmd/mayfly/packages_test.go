package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
)

// TestPackagedVariablesAreKnown checks that each environment variable in the Dockerfile, the compose file and
// the settings of the Linux service is one that `mayfly serve` reads. An exception is MAYFLY_VERSION, which
// chooses the image.
func TestPackagedVariablesAreKnown(t *testing.T) {
	t.Parallel()
	var f serveFlags
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.register(flags)
	known := []string{"MAYFLY_VERSION"}
	flags.VisitAll(func(f *pflag.Flag) { known = append(known, cli.Variable(f.Name)) })
	theirs := emulatorTable()
	assigned := regexp.MustCompile(`\b(MAYFLY_[A-Z_]+)|(?m:^      ([A-Z][A-Z_]+): )`)
	for file, least := range map[string]int{
		"Dockerfile": 6, "compose.yaml": 5, "packaging/linux/mayfly.env": 5,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		found := assigned.FindAllSubmatch(text, -1)
		if len(found) < least {
			t.Errorf("%s: only %q", file, found)
		}
		for _, m := range found {
			name := string(m[1]) + string(m[2])
			if slices.Contains(known, name) ||
				slices.ContainsFunc(theirs, func(v emulatorVariable) bool { return v.name == name }) {
				continue
			}
			t.Errorf("%s sets %s, which no server takes", file, name)
		}
	}
}
