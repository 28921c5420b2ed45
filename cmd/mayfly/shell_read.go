package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode"

	"github.com/mayflydb/mayfly/internal/cli"
)

// shellLineReader provides lines that a user types or that a file contains.
type shellLineReader interface {
	// line returns the next line without its end. It returns io.EOF at the end, and errCleared if the user
	// has discarded the line.
	line(prompt string) (string, error)
	// add adds a statement to the history, if there is one.
	add(statement string)
	close() error
}

// errCleared means that the user has pressed Ctrl-C at the prompt.
var errCleared = errors.New("the line was given up")

// pipedLineReader reads lines of a file or of a pipe.
type pipedLineReader struct{ in *bufio.Reader }

func (s *pipedLineReader) line(string) (string, error) {
	text, err := s.in.ReadString('\n')
	if err == io.EOF && text != "" {
		err = nil
	}
	return strings.TrimRight(text, "\r\n"), err
}

func (s *pipedLineReader) add(string)   {}
func (s *pipedLineReader) close() error { return nil }

// statement reads the next statement. A line that begins with a backslash is a command. All other lines
// belong to a query, which ends with a semicolon, with an empty line or at the end of the input.
func statement(from shellLineReader, prompt string) (string, error) {
	var lines []string
	for {
		text, err := from.line(prompt)
		if err == io.EOF && len(lines) > 0 {
			return strings.Join(lines, "\n"), nil
		}
		if err != nil {
			return "", err
		}
		trimmed := strings.TrimSpace(text)
		switch {
		case len(lines) == 0 && trimmed == "":
			continue
		case len(lines) == 0 && (trimmed[0] == '\\' || strings.HasPrefix(trimmed, "--")):
			return trimmed, nil
		}
		lines = append(lines, text)
		if whole := strings.TrimSpace(strings.Join(lines, "\n")); trimmed == "" ||
			strings.HasSuffix(whole, ";") {
			return strings.TrimRight(whole, "; \t\n"), nil
		}
		prompt = "    ... "
	}
}

// splitWords splits a command line as a shell does: at blanks outside of quotes. JSON without quotes around
// it stays in one piece: within braces and brackets, quotes and blanks belong to the JSON.
func splitWords(line string) (list []string, err error) {
	var word strings.Builder
	begun, depth, quote, inText := false, 0, rune(0), false
	runes := []rune(line)
	for i, r := range runes {
		switch {
		case depth > 0:
			word.WriteRune(r)
			switch {
			case r == '"' && runes[i-1] != '\\':
				inText = !inText
			case inText:
			case r == '{' || r == '[':
				depth++
			case r == '}' || r == ']':
				depth--
			}
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case (r == '{' || r == '[') && !begun:
			begun, depth = true, 1
			word.WriteRune(r)
		case r == '"' || r == '\'':
			begun, quote = true, r
		case unicode.IsSpace(r):
			if begun {
				list = append(list, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || depth > 0 {
		return nil, cli.Misuse("a quote or a bracket is not closed")
	}
	if begun {
		list = append(list, word.String())
	}
	return list, nil
}
