package syntax

import (
	"errors"
	"strings"
	"testing"
)

// nested returns a query whose operand 1 follows n times the text open and precedes n times the text
// closing.
func nested(open string, n int, closing string) string {
	return "SELECT VALUE " + strings.Repeat(open, n) + "1" + strings.Repeat(closing, n)
}

func TestTextLimit(t *testing.T) {
	longest := "SELECT 1" + strings.Repeat(" ", MaxText-len("SELECT 1"))
	if _, err := Parse(longest); err != nil {
		t.Errorf("%d bytes: %v", len(longest), err)
	}
	for _, parse := range []func(string) (*QueryTree, error){Parse, ParseCondition} {
		_, err := parse(longest + " ")
		var limit *SizeLimitError
		if !errors.As(err, &limit) || *limit != (SizeLimitError{TextLimit, MaxText}) {
			t.Errorf("%d bytes: %v", len(longest)+1, err)
		}
	}
}

func TestNotUTF8(t *testing.T) {
	_, err := Parse("SELECT\n \"é\xff\"")
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *Error", err)
	}
	want := Error{Code: CodeSyntax, Start: 10, End: 11, Line: 2, Col: 4, Token: "\uFFFD",
		Message: "Syntax error, incorrect syntax near '\uFFFD'."}
	if *e != want {
		t.Errorf("got %+v, want %+v", *e, want)
	}
	if _, err := Parse("SELECT '\uFFFD'"); err != nil {
		t.Errorf("U+FFFD itself: %v", err)
	}
}

// TestLongToken checks that the message of an error is short even if the unexpected token is long.
func TestLongToken(t *testing.T) {
	_, err := Parse("SELECT '" + strings.Repeat("é", 10000))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *Error", err)
	}
	if len(e.Message) > 2*maxNear || e.End-e.Start != 10001 {
		t.Errorf("%d bytes of message, token %d..%d", len(e.Message), e.Start, e.End)
	}
}

// TestDepthLimit checks for each kind of nesting how many levels Parse accepts: the deepest accepted query
// can be printed and parsed again, and a deeper one gets a *SizeLimitError.
func TestDepthLimit(t *testing.T) {
	for _, test := range []struct {
		name, open, closing string
		accepted            int // the most levels that there may be
	}{
		{"parentheses", "(", ")", maxNesting - 2},
		{"arrays", "[", "]", MaxDepth - 3},
		{"objects", "{a:", "}", MaxDepth - 3},
		{"calls", "f(", ")", MaxDepth - 3},
		{"UDFs", "udf.f(", ")", MaxDepth - 3},
		{"NOT", "NOT ", "", MaxDepth - 3},
		{"minus", "- ", "", MaxDepth - 3},
		{"properties", "", "['a']", MaxDepth - 3},
		{"indices", "c[", "]", MaxDepth - 3},
		{"sums", "", "+1", MaxDepth - 3},
		{"sums from the right", "1+(", ")", MaxDepth - 3},
		{"comparisons", "1=", "", MaxDepth - 3},
		{"conditionals", "1?2:", "", MaxDepth - 3},
		{"conditionals inside", "1?", ":2", MaxDepth - 3},
		{"coalescing", "1??", "", MaxDepth - 3},
		{"IN", "1 IN (", ")", MaxDepth - 3},
		{"BETWEEN", "1 BETWEEN 2 AND (", ")", MaxDepth - 3},
		{"AND and OR in turn", "1 AND (2 OR (", "))", (MaxDepth - 3) / 2},
		{"OR from the right", "1 OR (", ")", MaxDepth - 3},
		{"OR from the left", "(", " OR 2)", maxNesting - 3},
		{"subqueries", "(SELECT VALUE ", ")", (MaxDepth - 3) / 3},
		{"EXISTS", "EXISTS(SELECT VALUE ", ")", (MaxDepth - 3) / 3},
		{"subqueries in FROM", "1 FROM (SELECT VALUE ", ")", (MaxDepth - 3) / 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, err := Parse(nested(test.open, test.accepted, test.closing))
			if err != nil {
				t.Fatalf("%d levels: %v", test.accepted, err)
			}
			roundTrip(t, q)
			for _, n := range []int{test.accepted + 1, 2 * test.accepted, 10000} {
				_, err := Parse(nested(test.open, n, test.closing))
				var limit *SizeLimitError
				if !errors.As(err, &limit) || *limit != (SizeLimitError{DepthLimit, MaxDepth}) {
					t.Errorf("%d levels: %v", n, err)
				}
			}
		})
	}
}

// TestUnclosedNesting checks that a text with half a megabyte of opening brackets or prefix operators,
// which are never closed, gets a *SizeLimitError and does not overflow the stack.
func TestUnclosedNesting(t *testing.T) {
	for _, open := range []string{"(", "[", "{a:", "f(", "NOT ", "-", "1+(", "c[", "(SELECT ", "1?",
		"a IN ("} {
		_, err := Parse("SELECT " + strings.Repeat(open, MaxText/len(open)-10))
		if open == "-" {
			open = "--, a comment" // and so the text ends too early
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%s: %v", open, err)
			}
			continue
		}
		var limit *SizeLimitError
		if !errors.As(err, &limit) {
			t.Errorf("%s: %v", open, err)
		}
	}
}

// TestLongChains checks that chains of 30,000 operands or elements, such as a OR a OR a, are accepted, and
// that their trees are flat.
func TestLongChains(t *testing.T) {
	const n = 30000
	chain := func(operand, between string) string { return strings.Repeat(operand+between, n-1) + operand }
	for _, test := range []struct{ name, text string }{
		{"AND", "SELECT * FROM c WHERE " + chain("a", " AND ")},
		{"OR", "SELECT * FROM c WHERE " + chain("a", " OR ")},
		{"OR of AND", "SELECT * FROM c WHERE " + strings.Repeat("a AND b OR ", n) + "c"},
		{"IN", "SELECT * FROM c WHERE a IN (" + chain("1", ",") + ")"},
		{"NOT IN", "SELECT * FROM c WHERE a NOT IN (" + chain("'x'", ", ") + ")"},
		{"array", "SELECT VALUE [" + chain("1", ", ") + "]"},
		{"items", "SELECT " + chain("1", ", ")},
		{"arguments", "SELECT f(" + chain("1", ", ") + ")"},
		{"JOIN", "SELECT 1 FROM " + chain("c", " JOIN ")},
		{"OR in nested parentheses", "SELECT VALUE " + strings.Repeat("(", 3000) + "a" +
			strings.Repeat(" OR b)", 3000)},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			roundTrip(t, q)
			height := 0
			measure(q, 1, &height)
			if height > 10 {
				t.Errorf("the tree is %d levels high", height)
			}
		})
	}
}

func measure(n Node, level int, height *int) {
	*height = max(*height, level)
	each(n, func(child Node) { measure(child, level+1, height) })
}

// TestNestedChains checks that 400 nested chains of AND and OR can be printed and parsed again. Each chain
// is short enough to be printed with parentheses around every pair.
func TestNestedChains(t *testing.T) {
	text := "a"
	for i := range 400 {
		op := [...]string{" AND b", " OR b"}[i%2]
		text = "(" + text + strings.Repeat(op, 100) + ")"
	}
	q, err := Parse("SELECT VALUE " + text)
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, q)
}
