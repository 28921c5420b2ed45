package syntax

import "fmt"

// The codes of an Error, as Cosmos DB has them.
const (
	CodeSyntax    = "SC1001" // a token that does not belong where it stands, or no token at all
	CodeEndOfFile = "SC1002" // the text ends too early
	CodeToken     = "SC1010" // characters that begin no token
	CodeNumber    = "SC1011" // a number that is none or is too large
	CodeString    = "SC1012" // a string that is not closed or has a bad escape
)

// Error reports a text that is not a query. Cosmos DB answers such a text with the code, the place and the
// message.
type Error struct {
	Code string // one of the codes above
	// of the offending token, in characters from 0, End exclusive; equal where the text ends too early
	Start, End int
	Line, Col  int    // of Start, from 1; Col is in characters
	Token      string // the offending token as it is written, empty where the text ends too early
	Message    string // in the words of Cosmos DB
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (line %d, column %d)", e.Message, e.Line, e.Col)
}

// Limit is what a LimitError is about.
type Limit uint8

// The limits of a text.
const (
	TextLimit  Limit = iota // of bytes, MaxText
	DepthLimit              // of levels that expressions are nested, MaxDepth
)

// LimitError reports a text that is too large or too deeply nested. Cosmos DB has no code for it.
type LimitError struct {
	Limit Limit
	Max   int // bytes or levels allowed
}

func (e *LimitError) Error() string {
	if e.Limit == TextLimit {
		return fmt.Sprintf("The query text is longer than the %d bytes allowed.", e.Max)
	}
	return fmt.Sprintf("The query is nested more than %d levels deep.", e.Max)
}
