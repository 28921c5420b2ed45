package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// unrunExamples lists the commands whose examples TestExamples does not run, each with the reason.
var unrunExamples = map[string]string{
	"serve":   "it runs until it is told to stop",
	"health":  "it asks the port that every server has by default",
	"bench":   "it takes minutes",
	"check":   "it wants a folder that no server has open",
	"migrate": "it wants a database",
	"import":  "the page about imports does",
	"export":  "the page about imports does",
}

// TestExamples runs the example lines in the help of the commands against a server, and checks that they
// succeed.
func TestExamples(t *testing.T) {
	b := boot(t, "--memory", "--virtual-clock", "--seed", file(t, "seed.json", `{"databases":[]}`))
	t.Chdir(t.TempDir())
	t.Setenv("MAYFLY_URL", "http://"+b.host)
	if err := os.WriteFile("shop.yaml", []byte("databases:\n  - id: shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		cmd, rest, err := rootCommand().Find(strings.Fields(e.command))
		if err != nil || len(rest) > 0 || cmd.HasAvailableSubCommands() {
			t.Errorf("there is no command %s", e.command)
			continue
		}
		if unrunExamples[e.command] != "" {
			continue
		}
		for _, line := range e.lines {
			args, err := splitWords(line)
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if e.command == "doctor" && slices.Contains(args, "--url") {
				continue // its address is not this server's
			}
			if slices.Contains(args, "--follow") {
				continue // it goes on until it is interrupted
			}
			if code, out, errs := mayfly(t, args[1:]...); code != 0 || errs != "" && e.command != "events" {
				t.Errorf("%s: %d %s%s", line, code, out, errs)
			}
		}
	}
}

// TestCommandHelpHasExamples checks that the help of every command has examples of that command.
func TestCommandHelpHasExamples(t *testing.T) {
	t.Parallel()
	for cmd := range everyCommand(rootCommand()) {
		if cmd.HasAvailableSubCommands() || !cmd.HasParent() {
			continue
		}
		if cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			if !strings.HasPrefix(line, "  "+cmd.CommandPath()) {
				t.Errorf("%s: an example of something else: %s", cmd.CommandPath(), line)
			}
		}
	}
}
