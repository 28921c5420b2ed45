// Package plan turns a bound query into a Plan.
//
// The first list of rules, ShapeRules, does not depend on the values of parameters in conditions. It folds
// constants, moves each condition to the first point at which it can be tested, and chooses the form of the
// query. The second list, ValueRules, depends on these values. It finds partition keys and conditions that
// never hold, and chooses indexes. Plan.With runs the second list again for other values.
//
//	bind.Query ─ ShapeRules ─► shape ─ ValueRules ─► Plan
//
// A Plan is immutable and holds no state of a run. Its nodes are data with a line of text each; package exec
// runs them. Its access paths (Access) say which index keys lead to the documents that may match the
// conditions. Its constraints say which keys of a path's index match a condition. The plan also records what
// can be answered from an index alone.
//
// The package reads no documents and no index entries, only the indexing policy.
package plan
