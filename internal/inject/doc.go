// Package inject knows the faults that are to be injected on demand: which operations fail, how and how
// often. It does nothing to an operation itself. A wire asks once for each operation what it meets, and acts
// by the answer before the operation is carried out, or after it.
//
//	operation.go  the operations by name, of documents and of messages
//	rule.go       what a rule is, and which rules are refused
//	rules.go      the list of rules, and what an operation meets
//	hit.go        what a wire is told
//
// # Rules
//
// An operation is held against the rules in their order. A rule that is about it takes the next number of
// its own series, which its seed begins, and hits where the number lies below its share. The first rule that
// hits decides; one of latency alone lets the operation go on to the rules behind it. So the same operations
// in the same order meet the same faults in each run. Operations that run side by side come in the order in
// which they ask.
//
// A rule ends when it has hit as often as it was to, or when its time is over. That time is the data's: a
// rule for a minute holds for as long as a virtual clock stands still. A rule that has ended stays in the
// list, with what it did, until it is deleted.
//
// # Cost
//
// Where no rule can hit any more, an operation costs one atomic load.
package inject
