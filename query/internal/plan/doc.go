// Package plan turns a bound query into a Plan.
//
// The first list of rules, ShapeRules, does not look at the values of parameters in conditions. It folds
// constants, moves conditions to where they can be decided first, and chooses the form of the query. The
// second list, ValueRules, does look at them. It finds partition keys and conditions that never hold, and
// chooses indexes. With runs the second list again for other values.
//
//	bind.Query ─ ShapeRules ─► shape ─ ValueRules ─► Plan
//
// A Plan is immutable and holds no state of a run. Its nodes are data with a line of text each; package exec
// runs them. Its access paths (Access) say which index keys lead to the documents that may match the
// conditions. Its constraints say which keys a condition on one path leaves. The plan also records what an
// index alone can answer.
//
// The package reads no documents and no index entries, only the indexing policy.
package plan
