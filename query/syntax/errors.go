package syntax

import "fmt"

// The codes of an Error in Cosmos DB.
const (
	CodeSyntax    = "SC1001" // an unexpected token, or the end of the text where a token is needed
	CodeEndOfFile = "SC1002" // the text ends too early
	CodeToken     = "SC1010" // characters with which no token begins
	CodeNumber    = "SC1011" // an invalid number, or one that is too large
	CodeString    = "SC1012" // a string that is not closed or has a bad escape
)

// Error reports a text that is not a query. Cosmos DB's response to such a text has the code, the position
// and the message.
type Error struct {
	Code string // one of the codes above
	// Start and End are the position of the unexpected token in the text of the query, in characters from 0;
	// End is exclusive. They are equal if the text ends too early.
	Start, End int
	Line, Col  int    // of Start, from 1; Col is in characters
	Token      string // the unexpected token as written; empty if the text ends too early
	Message    string // in the words of Cosmos DB
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s (line %d, column %d)", e.Message, e.Line, e.Col)
}

// SizeLimitKind is the kind of limit that a query text exceeds: see SizeLimitError. It is not the LIMIT
// clause of a query.
type SizeLimitKind uint8

// The limits of a text.
const (
	TextLimit  SizeLimitKind = iota // of bytes, MaxText
	DepthLimit                      // levels of nested expressions, MaxDepth
)

// SizeLimitError reports a text that is too large or too deeply nested. Cosmos DB has no code for it.
type SizeLimitError struct {
	Limit SizeLimitKind
	Max   int // bytes or levels allowed
}

func (e *SizeLimitError) Error() string {
	if e.Limit == TextLimit {
		return fmt.Sprintf("The query text is longer than the %d bytes allowed.", e.Max)
	}
	return fmt.Sprintf("The query is nested more than %d levels deep.", e.Max)
}
