package script

import (
	"context"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Host carries out what a stored procedure or a trigger does with its container: all of it in one partition
// and in one transaction. It is called by the goroutine that called Run, and never after Run has returned.
type Host interface {
	// Links are the collection's links, by rid (with a slash at its end) and by name.
	Links() (self, alt string)
	// Do carries out one operation. An error ends the script: it is none of the operation's own. ctx ends
	// with the time that the script has.
	Do(context.Context, Operation) (Answer, error)
	// Quota is what a post-trigger is told of its container: the limits, and how far they are used, in KB, as
	// names and values.
	Quota() (limits, usage string)
	// Full reports whether the transaction has no room for more work: operations are not accepted any more.
	Full() bool
}

// Kind says what an Operation does.
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

// Operation is what a script asks for.
type Operation struct {
	Kind         Kind
	ID, RID      string // of the document, the one or the other
	Body         []byte // text that the script calls JSON
	ETag         string // If-Match, of Read If-None-Match; empty: none
	PageSize     int    // of Query and List
	Continuation string
}

// Answer is what became of an Operation.
type Answer struct {
	// Body is JSON text: a document, or an array of rows; nil where there is none.
	Body         []byte
	Continuation string // another page follows
	NotModified  bool   // of a Read
	Status       int    // as in HTTP; from 400 on the operation has failed
	Message      string // of the failure
}

// Trigger says when a Procedure runs.
type Trigger uint8

// What a Procedure is.
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
	Request    jsondoc.Value   // of a trigger: the document as it was sent; undefined for a delete
	Operation  string          // of a trigger: Create, Replace, Upsert or Delete
	Response   jsondoc.Value   // of a post-trigger: the document as it is now
	Logging    bool            // keep what console.log says
}

// Outcome is what a Procedure leaves behind.
type Outcome struct {
	// Body is JSON text that was set: the response of a stored procedure or of a post-trigger, the request of
	// a pre-trigger. It is nil where the script has set none.
	Body []byte
	Log  string // what console.log said, a line each
}
