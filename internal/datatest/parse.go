package datatest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const fence = "----"

// A SyntaxError reports a line of a file that is not part of a valid case.
type SyntaxError struct {
	Pos    string // file:line
	Reason string
}

func (e *SyntaxError) Error() string { return e.Pos + ": " + e.Reason }

// A testFileSection is a piece of a test file: a case, and the lines before its expected output, which stay
// as they are when the file is rewritten (comments, blank lines, the command and the input of the case, its
// line of dashes). The last piece of a file has no case (nil).
type testFileSection struct {
	kept []string
	c    *TestFileCommand
}

type parser struct {
	path  string
	lines []string
	next  int // index of the next line to read
}

// parse splits a file into sections.
func parse(path, src string) ([]testFileSection, error) {
	src = strings.TrimSuffix(strings.ReplaceAll(src, "\r\n", "\n"), "\n")
	p := &parser{path: path}
	if src != "" {
		p.lines = strings.Split(src, "\n")
	}
	var out []testFileSection
	for {
		s, err := p.section()
		if err != nil {
			return nil, err
		}
		if s.c != nil || len(s.kept) > 0 {
			out = append(out, s)
		}
		if s.c == nil {
			return out, nil
		}
	}
}

func (p *parser) section() (testFileSection, error) {
	first := p.next
	for p.next < len(p.lines) && isFiller(p.lines[p.next]) {
		p.next++
	}
	if p.next == len(p.lines) {
		return testFileSection{kept: p.lines[first:]}, nil
	}
	c := &TestFileCommand{Pos: fmt.Sprintf("%s:%d", p.path, p.next+1)}
	if err := c.parseCommand(p.lines[p.next]); err != nil {
		return testFileSection{}, &SyntaxError{c.Pos, err.Error()}
	}
	p.next++
	body := p.next
	for p.next < len(p.lines) && p.lines[p.next] != fence {
		p.next++
	}
	if p.next == len(p.lines) {
		return testFileSection{}, &SyntaxError{c.Pos, "the case has no line ----"}
	}
	c.Input = joinLines(p.lines[body:p.next])
	p.next++
	s := testFileSection{kept: p.lines[first:p.next], c: c}
	return s, p.expected(c)
}

// expected reads the expected output, which follows the line of dashes of c.
func (p *parser) expected(c *TestFileCommand) error {
	first := p.next
	if !p.at(0, fence) {
		for p.next < len(p.lines) && p.lines[p.next] != "" {
			p.next++
		}
		c.expected = joinLines(p.lines[first:p.next])
		return nil
	}
	for p.next++; p.next < len(p.lines); p.next++ {
		if p.at(0, fence) && p.at(1, fence) && (p.next+2 == len(p.lines) || p.at(2, "")) {
			c.expected = joinLines(p.lines[first+1 : p.next])
			p.next += 2
			return nil
		}
	}
	return &SyntaxError{c.Pos, "the doubled fence is not closed by two lines ---- and a blank one"}
}

// at reports whether the line that is i lines after the next one equals s.
func (p *parser) at(i int, s string) bool {
	return p.next+i < len(p.lines) && p.lines[p.next+i] == s
}

func isFiller(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#")
}

func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

var keyOf = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*)=`)

// parseCommand splits the first line of a case into the command, the positional and the named arguments.
func (c *TestFileCommand) parseCommand(line string) error {
	c.KV = map[string]string{}
	rest := strings.TrimSpace(line)
	cut := strings.IndexAny(rest, " \t")
	if cut < 0 {
		cut = len(rest)
	}
	c.Cmd, rest = rest[:cut], strings.TrimSpace(rest[cut:])
	for rest != "" {
		key := ""
		if m := keyOf.FindStringSubmatch(rest); m != nil {
			key, rest = m[1], rest[len(m[0]):]
		}
		value, tail, err := cutValue(rest)
		if err != nil {
			return err
		}
		rest = strings.TrimSpace(tail)
		if key == "" {
			c.Args = append(c.Args, value)
			continue
		}
		if _, twice := c.KV[key]; twice {
			return fmt.Errorf("the argument %s is given twice", key)
		}
		c.KV[key] = value
	}
	return nil
}

// cutValue returns the word, or the quoted string, at the front of s, and the rest.
func cutValue(s string) (value, tail string, err error) {
	if !strings.HasPrefix(s, `"`) {
		cut := strings.IndexAny(s, " \t")
		if cut < 0 {
			cut = len(s)
		}
		return s[:cut], s[cut:], nil
	}
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", fmt.Errorf("the quoted string %s is not closed", s)
	}
	tail = s[len(quoted):]
	if tail != "" && !strings.HasPrefix(tail, " ") && !strings.HasPrefix(tail, "\t") {
		return "", "", fmt.Errorf("no blank after the quoted string %s", quoted)
	}
	value, err = strconv.Unquote(quoted)
	return value, tail, err
}
