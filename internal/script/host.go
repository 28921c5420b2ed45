package script

import (
	"context"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Host carries out the operations of a stored procedure or trigger on its container, in one partition and
// one transaction. Its methods are called only by the goroutine that called Run, and never after Run has
// returned.
type Host interface {
	// Links returns the collection's links, by rid (with a slash at its end) and by name.
	Links() (self, alt string)
	// Do carries out one operation. An error ends the script; failures of the operation are in the Answer.
	// ctx ends with the script's time limit.
	Do(context.Context, Operation) (Answer, error)
	// Quota returns the limits and the usage of the container for a post-trigger, in KB, as names and
	// values.
	Quota() (limits, usage string)
	// Full reports whether the transaction is full: further operations are not accepted.
	Full() bool
}

// Kind is a kind of Operation.
type Kind string

// The kinds of operations.
const (
	Create  Kind = "create"
	Upsert  Kind = "upsert"
	Read    Kind = "read"
	Replace Kind = "replace"
	Delete  Kind = "delete"
	Query   Kind = "query" // Body is {"query": text, "parameters": [...]}
	List    Kind = "list"
)

// Operation is an operation requested by a script.
type Operation struct {
	Kind         Kind
	ID, RID      string // of the document; one of them is set
	Body         []byte // the script's text, which may be invalid JSON
	ETag         string // If-Match, for Read If-None-Match; empty: none
	PageSize     int    // of Query and List
	Continuation string
}

// Answer is the result of an Operation.
type Answer struct {
	// Body is JSON: a document, or an array of rows; nil if there is none.
	Body         []byte
	Continuation string // set if there is another page
	NotModified  bool   // of a Read
	Status       int    // an HTTP status; 400 or higher: the operation failed
	Message      string // of the failure
}

// Trigger determines when a Procedure runs.
type Trigger uint8

// The kinds of Procedures.
const (
	NoTrigger Trigger = iota // a stored procedure
	PreTrigger
	PostTrigger
)

// Procedure is one run of a stored procedure or of a trigger.
type Procedure struct {
	ID, Source string
	Trigger    Trigger
	Args       []jsondoc.Value // of a stored procedure
	Request    jsondoc.Value   // of a trigger: the document in the request; undefined for a delete
	Operation  string          // of a trigger: Create, Replace, Upsert or Delete
	Response   jsondoc.Value   // of a post-trigger: the document after the operation
	Logging    bool            // record the output of console.log
}

// Outcome is the result of a Procedure.
type Outcome struct {
	// Body is the JSON that the script has set: the response of a stored procedure or post-trigger, or the
	// request of a pre-trigger. It is nil if the script has set none.
	Body []byte
	Log  string // the output of console.log, one line per call
}
