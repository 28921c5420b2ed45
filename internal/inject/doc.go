// Package inject decides which operations meet a fault on demand: which fail, how and how often. It does
// not act on operations itself. The implementation of a protocol asks once per operation which fault it
// meets, and applies the fault before or after it carries out the operation.
//
//	operation.go  the operations on documents and messages, by name
//	rule.go       the definition and validation of a rule
//	rules.go      the list of rules, and which fault an operation meets
//	hit.go        the result for one operation
//
// # Rules
//
// An operation is compared with the rules in order. Each rule that applies to it draws the next number of
// its own random series, which begins with the rule's seed. The rule hits if the number is below its share.
// The first rule that hits determines the fault. A rule with latency only does not stop the search: later
// rules may hit, too. Therefore the same operations in the same order meet the same faults in each run. For
// concurrent operations, the order in which they ask counts.
//
// A rule ends after its number of hits, or when its time is over. Its time is measured by the data's clock:
// a rule for one minute does not end while a virtual clock stands still. An ended rule stays in the list,
// with its counts, until it is deleted.
//
// # Cost
//
// If no rule can hit any more, an operation costs one atomic load.
package inject
