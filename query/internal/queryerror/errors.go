package queryerror

import (
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/syntax"
)

// The codes of semantic errors in Cosmos DB. Package syntax has the codes of syntax errors.
const (
	CodeUnresolved       = "SC2001" // an identifier that no FROM clause binds
	CodeUnknownFunction  = "SC2005"
	CodeSameAlias        = "SC2021" // two sources with the same name
	CodeSameName         = "SC2022" // two properties with the same name in an object or a select list
	CodeStarWithoutFrom  = "SC1021"
	CodeStarWithGroupBy  = "SC2041"
	CodeStarWithJoin     = "SC2042"
	CodeArguments        = "SC2050" // a wrong number of arguments
	CodeHashModulo       = "SC2051"
	CodeHashSeed         = "SC2052"
	CodeTimespan         = "SC2053" // an argument that is no time span such as "5mi"
	CodeTop              = "SC2060" // the count of TOP
	CodeLimit            = "SC2061"
	CodeOffset           = "SC2062"
	CodeNestedAggregate  = "SC2101"
	CodeNotGrouped       = "SC2102"
	CodeOrderNotGrouped  = "SC2103" // an ORDER BY expression that is not a GROUP BY key
	CodeAggregateInWhere = "SC2104"
	// CodeKeyWithoutProperty is the code for a GROUP BY key that contains no property, and for one that
	// contains an aggregate or a subquery.
	CodeKeyWithoutProperty = "SC2110"
	CodeKeyOfMany          = "SC2111"
	CodeManyRows           = "SC2201" // a scalar subquery that can have several rows
	CodeSubqueryOrderBy    = "SC2202"
	CodeSubqueryTop        = "SC2203"
	CodeSubqueryLimit      = "SC2204"
	CodeTopWithOffset      = "SC2205"
	CodeVectorOptions      = "SC2210" // the fourth argument of VectorDistance
	CodeVectorExact        = "SC2212" // the third argument of VectorDistance
	CodeEmbeddings         = "SC2216"
	CodeRankDistinct       = "SC2220"
	CodeVectorDirection    = "SC2210" // ASC or DESC behind a VectorDistance
	CodeSearchList         = "SC2213" // a multiplier of VectorDistance out of its range
	CodeRankFunction       = "SC2221"
	CodeRankDirection      = "SC2222" // ASC or DESC behind ORDER BY RANK
	CodeRankIn             = "SC2223"
	CodeRankJoin           = "SC2224"
	CodeRankSubquery       = "SC2225"
	CodeRankAggregate      = "SC2226"
	CodeRankGroupBy        = "SC2227"
	CodeRankInSubquery     = "SC2228"
	CodeRankWeights        = "SC2229"
	CodeFewScores          = "SC2233"
	CodeScoreOutsideRank   = "SC2240"
	CodeScoreWithoutRank   = "SC2244"
	CodeScoreTerms         = "SC2241" // a term of FullTextScore that is not constant
	CodeMemberIndex        = "SC2990" // an index that is not a literal: c.list[c.i]
	CodeTooManyUDFs        = "SC3005"
	NumberUnsupportedSort  = 2206 // ORDER BY over an expression that is not a path of the document
)

// ErrorFormat is one of the two formats in which Cosmos DB reports query errors.
type ErrorFormat uint8

// The two formats of query errors.
const (
	// Located is the format with positions:
	//	{"errors":[{"severity":"Error","location":{...},"code":"SC2001","message":"..."}]}
	Located  ErrorFormat = iota
	Unplaced             // {"Errors":["..."]}
)

// Error reports that a query cannot be answered. Either the query was refused before any document was read,
// or it failed during the run: Code is then empty and Start is 0. In Cosmos DB the response has the status
// 400.
type Error struct {
	Code       string // SC...; empty if there is none
	Number     int    // the code if it is a number; else 0
	Message    string // Cosmos DB's own message, if it is known
	Start, End int    // position in characters (Unicode code points) of the text from 0, End exclusive
	Line, Col  int    // of Start, from 1; Col is in characters. 0 if the error has no position
	Style      ErrorFormat
	More       []*Error // further errors of the same query, in the order of the text; they have no More
	Err        error    // the cause, may be nil
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (line %d, column %d)", e.Message, e.Line, e.Col)
}

// Unwrap returns the cause of the error.
func (e *Error) Unwrap() error { return e.Err }

// errorLocation is the position in the query's text, from Start to End, of an error that is reported in JSON.
type errorLocation struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// locatedErrorJSON is one error in the JSON of the format Located.
type locatedErrorJSON struct {
	Severity string         `json:"severity"`
	Location *errorLocation `json:"location,omitempty"`
	Code     any            `json:"code,omitempty"`
	Message  string         `json:"message"`
}

// JSON renders the error as Cosmos DB embeds it in the message of a response.
func (e *Error) JSON() string {
	all := append([]*Error{e}, e.More...)
	var body any
	if e.Style == Unplaced {
		texts := make([]string, len(all))
		for i, one := range all {
			texts[i] = one.Message
		}
		body = struct{ Errors []string }{texts}
	} else {
		list := make([]locatedErrorJSON, len(all))
		for i, one := range all {
			list[i] = one.diagnostic()
		}
		body = struct {
			Errors []locatedErrorJSON `json:"errors"`
		}{list}
	}
	text, err := jsondoc.Marshal(body)
	if err != nil { // cannot happen: all fields can be encoded
		return ""
	}
	return string(text)
}

func (e *Error) diagnostic() locatedErrorJSON {
	d := locatedErrorJSON{Severity: "Error", Message: e.Message}
	if e.Line > 0 && e.Number == 0 {
		d.Location = &errorLocation{e.Start, e.End}
	}
	switch {
	case e.Code != "":
		d.Code = e.Code
	case e.Number != 0:
		d.Code = e.Number
	}
	return d
}

// CursorError reports a continuation token (cursor) that cannot be read, or that belongs to another query or
// scope.
type CursorError struct {
	Reason string
}

func (e *CursorError) Error() string { return "Invalid Continuation Token: " + e.Reason }

// MemoryError reports a query that needs more memory than allowed for the rows that one of its clauses
// must keep, such as DISTINCT or GROUP BY.
type MemoryError struct {
	Clause string // the clause that needed the memory
	Max    int    // bytes allowed
	Err    error  // the error of the temporary files, a *spill.Error; nil: no temporary file was tried
	NoTemp bool   // temporary files could have held the data, but Env has none
}

func (e *MemoryError) Error() string {
	text := fmt.Sprintf("The query needs more than the %d MB of memory that %s may use. Narrow it by a filter",
		e.Max>>20, e.Clause)
	switch {
	case e.Err != nil:
		return text + ": it could not go on in temporary files, " + e.Err.Error() + "."
	case e.NoTemp:
		return text + ", or keep the data in a folder instead of in memory: then temporary files take the rest."
	}
	return text + "."
}

// Unwrap returns the error of the temporary files.
func (e *MemoryError) Unwrap() error { return e.Err }

// MemoryUnavailableError reports a query that could not get memory for its intermediate results, since other
// requests use it. The query may be retried.
type MemoryUnavailableError struct {
	Clause string // the clause that needed the memory
}

func (e *MemoryUnavailableError) Error() string {
	return "Other requests take all the memory that there is for " + e.Clause +
		" and the like. Please retry after some time."
}

// Plain returns an error with a message only, in the format that has no positions (Unplaced).
func Plain(message string) *Error { return &Error{Message: message, Style: Unplaced} }

// SyntaxError converts an error of package syntax to an *Error.
func SyntaxError(err error) error {
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		return &Error{Code: wrong.Code, Message: wrong.Message, Start: wrong.Start, End: wrong.End,
			Line: wrong.Line,
			Col:  wrong.Col, Err: err}
	}
	return &Error{Message: err.Error(), Style: Unplaced, Err: err}
}

// Place sets Line and Col from the offset Start in text, the text of the query.
func (e *Error) Place(text string) {
	e.Line, e.Col = 1, 1
	at := 0
	for _, r := range text {
		if at == e.Start {
			return
		}
		at++
		if e.Col++; r == '\n' {
			e.Line, e.Col = e.Line+1, 1
		}
	}
}

// TimeLimitError reports a query that exceeded its time limit. The limit interrupts the run at any point,
// even while a row or a function is evaluated.
type TimeLimitError struct {
	Limit time.Duration // the time limit
}

func (e *TimeLimitError) Error() string {
	return fmt.Sprintf("The query has taken more than %v and was given up. Narrow it by a filter.", e.Limit)
}
