package datatest

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "replace the expected outputs in the golden files that are run")

// TestFileCommand is one command in a test file, with its arguments and its input.
type TestFileCommand struct {
	Cmd   string
	Args  []string          // positional arguments
	KV    map[string]string // key=value arguments
	Input string            // the lines below the command, each with its newline
	Pos   string            // file:line of the command

	expected string
	t        *testing.T
}

// Run runs the cases of the file at path in order and compares the result of fn for each with the expected
// output. A missing newline at the end of the output is ignored.
func Run(t *testing.T, path string, fn func(t *testing.T, c *TestFileCommand) string) {
	t.Helper()
	diffs, err := runFile(path, *rewrite, func(c *TestFileCommand) string {
		c.t = t
		return fn(t, c)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diffs {
		t.Error(d)
	}
}

// Walk runs every file below dir, each in a subtest named by its path inside dir. Files whose names begin
// with a dot are skipped. A directory without a file is an error, because such a test could never fail.
func Walk(t *testing.T, dir string, fn func(t *testing.T, c *TestFileCommand) string) {
	t.Helper()
	files, err := filesBelow(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("%s holds no file", dir)
	}
	for _, f := range files {
		t.Run(filepath.ToSlash(f), func(t *testing.T) { Run(t, filepath.Join(dir, f), fn) })
	}
}

func filesBelow(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files = append(files, rel)
		return err
	})
	return files, err
}

// runFile runs the cases of one file and returns a report for each case whose output differs. With update it
// writes the results of fn into the file instead.
func runFile(path string, update bool, fn func(*TestFileCommand) string) (diffs []string, err error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sections, err := parse(filepath.ToSlash(path), string(src))
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, s := range sections {
		out.WriteString(joinLines(s.kept))
		if s.c == nil {
			continue
		}
		got := fn(s.c)
		if got != "" && !strings.HasSuffix(got, "\n") {
			got += "\n"
		}
		if !update && got != s.c.expected {
			diffs = append(diffs, s.c.report(got))
		}
		if err := s.c.print(&out, got); err != nil {
			return nil, err
		}
	}
	if !update || out.String() == string(src) {
		return diffs, nil
	}
	return nil, os.WriteFile(path, []byte(out.String()), 0o644)
}

// report describes the difference between got and the expected output.
func (c *TestFileCommand) report(got string) string {
	lines := func(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }
	return fmt.Sprintf("%s: %s: the output differs (-expected +got; -rewrite takes it over):\n%s",
		c.Pos, c.Cmd, cmp.Diff(lines(c.expected), lines(got)))
}

// print writes got, the output of the command c, after the line of dashes that ends c's input. If got
// contains blank lines, it is enclosed in doubled lines of dashes.
func (c *TestFileCommand) print(w *strings.Builder, got string) error {
	const double = fence + "\n" + fence + "\n"
	if !strings.Contains("\n"+got, "\n\n") && !strings.HasPrefix(got, fence+"\n") {
		w.WriteString(got)
		return nil
	}
	if strings.Contains("\n"+got, "\n"+double+"\n") {
		return &SyntaxError{c.Pos, "an output cannot hold two lines ---- and a blank one after them"}
	}
	w.WriteString(fence + "\n" + got + double)
	return nil
}

// Fatalf ends the test with a message that begins with the position of the command in its file.
func (c *TestFileCommand) Fatalf(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s: %s: %s", c.Pos, c.Cmd, fmt.Sprintf(format, args...))
}

// Unknown fails the test, because the function under test has no command with this name.
func (c *TestFileCommand) Unknown() string {
	c.t.Helper()
	c.Fatalf("unknown command")
	return ""
}

// Lines returns the input line by line, without newlines.
func (c *TestFileCommand) Lines() []string {
	if c.Input == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(c.Input, "\n"), "\n")
}

// Flag reports whether name is one of the positional arguments.
func (c *TestFileCommand) Flag(name string) bool {
	return slices.Contains(c.Args, name)
}

// String returns the value of the argument key, or def if it is not given.
func (c *TestFileCommand) String(key, def string) string {
	return named(c, key, def, func(s string) (string, error) { return s, nil })
}

// Int returns the value of the argument key as a number (decimal, 0x or 0b), or def if it is not given. A
// malformed value fails the test.
func (c *TestFileCommand) Int(key string, def int64) int64 {
	c.t.Helper()
	return named(c, key, def, func(s string) (int64, error) { return strconv.ParseInt(s, 0, 64) })
}

// Bool returns the value of the argument key (true or false), or def if it is not given. A malformed value
// fails the test.
func (c *TestFileCommand) Bool(key string, def bool) bool {
	c.t.Helper()
	return named(c, key, def, strconv.ParseBool)
}

// Duration returns the value of the argument key, such as "1.5s", or def if it is not given. A malformed
// value fails the test.
func (c *TestFileCommand) Duration(key string, def time.Duration) time.Duration {
	c.t.Helper()
	return named(c, key, def, time.ParseDuration)
}

func named[T any](c *TestFileCommand, key string, def T, parse func(string) (T, error)) T {
	s, ok := c.KV[key]
	if !ok {
		return def
	}
	v, err := parse(s)
	if err != nil {
		c.t.Helper()
		c.Fatalf("the argument %s: %v", key, err)
	}
	return v
}
