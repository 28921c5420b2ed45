// Package eval compiles bound expressions to closures and runs them over the text of a document.
//
// A Valuer returns the value of an expression at a Frame, a Decider its truth value. A Frame holds the
// document and what names are bound to; a Layout says how much room it needs. A Run is what all frames of one
// execution share: the limits, the time, the functions of the container (Env). A filter on one field is a
// walk to that field in the text, without memory.
//
// A Rowset makes the rows that FROM and JOIN make of one document, and puts their conditions to them. A
// Grouper makes groups and aggregates of rows; it and the sets of DISTINCT move to temporary files (package
// spill) where they need more memory than Env allows.
//
// The package reads no source beside the document at hand, and knows nothing of plans, indexes and pages.
package eval
