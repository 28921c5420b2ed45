// Package plan turns a bound query into a Plan.
//
// The first list of rules, ShapeRules, does not look at the values of parameters in conditions: it folds
// constants, moves conditions to where they can be decided first, and chooses the form of the query. The
// second list, ValueRules, does: it finds partition keys and conditions that never hold, and chooses indexes.
// With runs the second list again for other values.
//
//	bind.Query ─ shapeRules ─► shape ─ valueRules ─► Planned
//
// A Plan is immutable and inert. Its nodes are data with a line of text each; package exec runs them. Its
// access paths (Access) say which index keys lead to the documents that may fulfil the conditions, and its
// constraints which keys a condition on one path leaves. What an index alone can answer is noted as well.
//
// The package reads no documents and no index entries; it asks only the indexing policy.
package plan
