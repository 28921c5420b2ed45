package datatest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// answer is the function that this package's own test files exercise: it returns the output for a case.
func answer(c *TestFileCommand) string {
	var b strings.Builder
	switch c.Cmd {
	case "show":
		fmt.Fprintf(&b, "cmd %q\n", c.Cmd)
		for _, a := range c.Args {
			fmt.Fprintf(&b, "arg %q\n", a)
		}
		for _, k := range slices.Sorted(maps.Keys(c.KV)) {
			fmt.Fprintf(&b, "%s = %q\n", k, c.KV[k])
		}
		for _, l := range c.Lines() {
			fmt.Fprintf(&b, "in %q\n", l)
		}
	case "typed":
		return fmt.Sprint(c.Int("n", -1), " ", c.Bool("yes", false), " ", c.Duration("d", 0), " ", c.String("s", "x"))
	case "echo":
		return c.Input
	case "fences":
		return "----\nbelow"
	case "quiet":
	default:
		return c.Unknown()
	}
	return b.String()
}

func TestWalk(t *testing.T) {
	seen := 0
	Walk(t, "testdata/args", func(t *testing.T, c *TestFileCommand) string {
		seen++
		return answer(c)
	})
	if seen == 0 {
		t.Fatal("Walk ran no case")
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "golden.txt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDifferenceIsReported(t *testing.T) {
	path := write(t, "echo\nsame\n----\nsame\n\n# between\necho\nnew\n----\nold\n")
	before := read(t, path)
	diffs, err := runFile(path, false, answer)
	if err != nil {
		t.Fatal(err)
	}
	if len(diffs) != 1 {
		t.Fatalf("%d differences, want 1: %q", len(diffs), diffs)
	}
	for _, want := range []string{"golden.txt:7: echo:", `"old"`, `"new"`} {
		if !strings.Contains(diffs[0], want) {
			t.Errorf("the report does not name %s:\n%s", want, diffs[0])
		}
	}
	if read(t, path) != before {
		t.Error("the file was changed without -rewrite")
	}
}

// TestRewrite checks that rewriting a test file changes only the expected outputs, doubles the lines of
// dashes where an output has blank lines, and leaves a file that passes.
func TestRewrite(t *testing.T) {
	const src = `# head

echo
a

b
----
stale

# between, kept
echo k=v   spaced
plain
----
----
was

fenced
----
----


quiet
----
stale

# tail`
	const want = `# head

echo
a

b
----
----
a

b
----
----

# between, kept
echo k=v   spaced
plain
----
plain


quiet
----

# tail
`
	path := write(t, src)
	if diffs, err := runFile(path, true, answer); err != nil || len(diffs) != 0 {
		t.Fatalf("rewriting: %v, %q", err, diffs)
	}
	if got := read(t, path); got != want {
		t.Fatalf("rewritten file:\n%s\nwant:\n%s", got, want)
	}
	if diffs, err := runFile(path, false, answer); err != nil || len(diffs) != 0 {
		t.Fatalf("the rewritten file does not pass: %v, %q", err, diffs)
	}
}

// TestRewriteWithTwoSeparators checks that a test file is not changed if a new output cannot be written in
// its format, because it contains two lines of dashes followed by a blank line.
func TestRewriteWithTwoSeparators(t *testing.T) {
	path := write(t, "echo\n----\nold\n\nquiet\n----\nx\n")
	before := read(t, path)
	_, err := runFile(path, true, func(*TestFileCommand) string { return "a\n----\n----\n\nb\n" })
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("error %v, want a *SyntaxError", err)
	}
	if read(t, path) != before {
		t.Error("the file was changed")
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, test := range []struct{ name, src, pos string }{
		{"no fence", "\nshow\nbody\n", "f:2"},
		{"no fence at all", "show", "f:1"},
		{"open fence", "show\n----\n----\nx\n----\n", "f:1"},
		{"text after the fences", "show\n----\n----\nx\n----\n----\nshow\n----\n", "f:1"},
		{"key twice", "# x\nshow a=1 a=2\n----\n", "f:2"},
		{"open quote", "show \"a\n----\n", "f:1"},
		{"no blank after a quote", "show \"a\"b\n----\n", "f:1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse("f", test.src)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a *SyntaxError", err)
			}
			if syntax.Pos != test.pos {
				t.Errorf("position %s, want %s", syntax.Pos, test.pos)
			}
		})
	}
}

// FuzzPrintParse checks that any output, written into a test file as expected output, is the same after
// parsing.
func FuzzPrintParse(f *testing.F) {
	for _, s := range []string{"", "a\n", "\n", "a\n\nb\n", "----\n", "----\nx\n\n----\n", "#\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, out string) {
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		out = strings.ReplaceAll(out, "\r", "") // a line end \r\n is read as \n
		var w strings.Builder
		w.WriteString("cmd\n----\n")
		if err := (&TestFileCommand{}).print(&w, out); err != nil {
			return // refused, which TestRewriteWithTwoSeparators covers
		}
		w.WriteString("\n")
		sections, err := parse("f", w.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, w.String())
		}
		if got := sections[0].c.expected; got != out {
			t.Fatalf("printed %q, parsed %q", out, got)
		}
	})
}
