//go:build linux || darwin

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestShellOnATerminal runs the shell on a pseudo terminal and checks paging, completion, Ctrl-C at the
// prompt, the history and Ctrl-D.
func TestShellOnATerminal(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	for i := range shellPage + 5 {
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"`+strings.Repeat("x", i+1)+`","pk":"a"}`,
			"x-ms-documentdb-partitionkey", `["a"]`)
	}
	state := t.TempDir()
	cmd := exec.Command(os.Args[0], "shell", "--url", "http://"+b.host, "--db", "db", "--container", "c")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "TERM=xterm")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Skip("no pseudo terminal: ", err)
	}
	defer terminal.Close()
	seen := &strings.Builder{}
	out := bufio.NewReader(terminal)
	await := func(part string) {
		t.Helper()
		for !strings.Contains(seen.String(), part) {
			r, _, err := out.ReadRune()
			if err != nil {
				t.Fatalf("waiting for %q: %v\n%s", part, err, seen)
			}
			seen.WriteRune(r)
		}
		seen.Reset()
	}
	typed := func(text string) {
		t.Helper()
		if _, err := terminal.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	// A new prompt is at the beginning of a line; the other ones are shown again with what has been typed.
	await("\ndb/c> ")
	typed("SELECT VALUE LENGTH(c.id) FROM c ORDER BY c.id;\r")
	await(`\more shows more`)
	await("\ndb/c> ")
	typed("\\more\r")
	await("55\r\n")
	await("5 rows")
	await("\ndb/c> ")
	typed("SELECT broken")
	await("broken")
	typed("\x03") // Ctrl-C
	await("\ndb/c> ")
	typed("\\tim\t\r") // completion
	await("timing is on")
	await("\ndb/c> ")
	typed("SELECT VALUE 40 + 2;\r")
	await("42")
	await("time: ")
	await("\ndb/c> ")
	typed("\x04") // Ctrl-D
	if err := cmd.Wait(); err != nil {
		t.Errorf("the shell ends with %v", err)
	}
	history, err := os.ReadFile(filepath.Join(state, "mayfly", "shell_history"))
	if err != nil || !strings.Contains(string(history), "SELECT VALUE 40 + 2") {
		t.Errorf("the history is %q, %v", history, err)
	}
}
