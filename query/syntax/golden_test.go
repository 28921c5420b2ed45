package syntax

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/datatest"
)

// TestGolden runs the commands of the golden files, each with a text as its input:
//
//	print    the canonical form of a query or, with the argument condition, of a condition, which is reparsed
//	each     the canonical form of each line's expression
//	errors   the error of each line
//	error    the error of the whole input
//	spans    each node with the part of the text that it was parsed from
//
// With the flag lenient they are parsed by ParseLenient, with the flag condition by ParseCondition.
func TestGolden(t *testing.T) {
	datatest.Walk(t, "testdata", func(t *testing.T, c *datatest.TestFileCommand) string {
		text := strings.TrimSuffix(c.Input, "\n")
		var out strings.Builder
		switch c.Cmd {
		case "print":
			q, err := parse(c, text)
			if err != nil {
				c.Fatalf("%v", err)
			}
			roundTrip(t, q)
			return Print(q)
		case "each":
			for _, line := range c.Lines() {
				q, err := parse(c, "SELECT VALUE "+line)
				if err != nil {
					c.Fatalf("%s: %v", line, err)
				}
				roundTrip(t, q)
				fmt.Fprintln(&out, PrintExpr(q.Select.Value))
			}
		case "errors":
			for _, line := range c.Lines() {
				fmt.Fprintln(&out, describe(t, c, line))
			}
		case "error":
			return describe(t, c, text)
		case "spans":
			q, err := parse(c, text)
			if err != nil {
				c.Fatalf("%v", err)
			}
			return spans(q, []rune(text))
		default:
			return c.Unknown()
		}
		return out.String()
	})
}

func parse(c *datatest.TestFileCommand, text string) (*QueryTree, error) {
	switch {
	case c.Flag("condition"):
		return ParseCondition(text)
	case c.Flag("lenient"):
		return ParseLenient(text)
	}
	return Parse(text)
}

func describe(t *testing.T, c *datatest.TestFileCommand, text string) string {
	_, err := parse(c, text)
	wantError(t, c.Pos, text, err)
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%s %d..%d %d:%d %s", e.Code, e.Start, e.End, e.Line, e.Col, e.Message)
}

func spans(q *QueryTree, text []rune) string {
	var out strings.Builder
	Walk(q, func(n Node) bool {
		s := n.Extent()
		fmt.Fprintf(&out, "%s %s\n", strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax."),
			string(text[s.Start:s.End]))
		if call, ok := n.(*Call); ok {
			fmt.Fprintf(&out, "  its name %s\n", string(text[call.NameSpan.Start:call.NameSpan.End]))
		}
		return true
	})
	return out.String()
}
