// Package eval compiles bound expressions to closures and runs them over the text of a document.
//
// A ValueFunc returns the value of an expression at a Frame, a TruthFunc its truth value. A Frame holds the
// document and the values of names; a FrameSettings holds the sizes of frames. A QueryRunState is shared by
// all frames of one execution: it holds the limits, the time, and the functions of the container (Env). A
// filter on one field only walks to that field in the text and allocates no memory.
//
// A CompiledSelect makes the rows of FROM and JOIN for one document, and tests their conditions. A Grouper
// makes groups and aggregates of rows. A Grouper and the sets of DISTINCT move to temporary files (package
// spill) if they need more memory than Env allows.
//
// The package reads no source but the current document, and does not depend on plans, indexes or pages.
package eval
