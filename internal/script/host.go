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
	// Do carries out one operation. An error ends the script. If the operation fails, Do returns an
	// OperationResult with its status instead. ctx ends at the time limit of the script.
	Do(context.Context, Operation) (OperationResult, error)
	// Quota returns the limits and the usage of the container in KB, as texts like "collectionSize=10;". A
	// post-trigger can read them.
	Quota() (limits, usage string)
	// Full reports whether the transaction is full, so that it does not accept further operations.
	Full() bool
}

// OperationKind says what an Operation does with documents: create, read, query and so on.
type OperationKind string

// The values of OperationKind: what a script can do with documents.
const (
	Create  OperationKind = "create"
	Upsert  OperationKind = "upsert"
	Read    OperationKind = "read"
	Replace OperationKind = "replace"
	Delete  OperationKind = "delete"
	Query   OperationKind = "query" // Body is {"query": text, "parameters": [...]}
	List    OperationKind = "list"
)

// Operation is an operation that a script requests.
type Operation struct {
	Kind         OperationKind
	ID, RID      string // of the document; only one of the two is set
	Body         []byte // text from the script, which may be invalid JSON
	ETag         string // for a Read the value of If-None-Match, otherwise of If-Match; empty: none
	PageSize     int    // of Query and List
	Continuation string
}

// OperationResult is the result of an Operation.
type OperationResult struct {
	// Body is JSON: a document, or an array of rows; nil if there is none.
	Body         []byte
	Continuation string // set if there are more pages
	NotModified  bool   // of a Read
	Status       int    // HTTP status; 400 or higher means that the operation has failed
	Message      string // of the failure
}

// TriggerType says whether a ProcedureOrTriggerCall is a trigger, and whether it runs before or after the
// write.
type TriggerType uint8

// The values of ProcedureOrTriggerCall.Trigger: a stored procedure, or a trigger before or after a write.
const (
	NoTrigger TriggerType = iota // a stored procedure
	PreTrigger
	PostTrigger
)

// ProcedureOrTriggerCall describes one run of a stored procedure or of a trigger.
type ProcedureOrTriggerCall struct {
	ID, Source string
	Trigger    TriggerType
	Args       []jsondoc.Value // of a stored procedure
	Request    jsondoc.Value   // for a trigger: the document in the request; undefined for a delete
	Operation  string          // for a trigger: Create, Replace, Upsert or Delete
	Response   jsondoc.Value   // for a post-trigger: the document after the operation
	Logging    bool            // record the output of console.log
}

// ProcedureOrTriggerResult is what a stored procedure or trigger has returned.
type ProcedureOrTriggerResult struct {
	// Body is the JSON text that the script has set: the body of the response in a stored procedure or
	// post-trigger, or the body of the request in a pre-trigger. It is nil if the script has set none.
	Body []byte
	Log  string // the output of console.log, one line per call
}
