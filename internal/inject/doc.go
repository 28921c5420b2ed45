// Package inject implements fault rules: they decide which operations fail, how and how often. The package
// does not act on operations itself. The implementation of a protocol calls FaultRules.Match once for each
// operation, and applies the returned fault before or after it carries out the operation.
//
//	operation.go       the operations on documents and messages, by name
//	fault_rule.go      the definition and validation of a rule
//	fault_rules.go     the list of rules, and the choice of the fault for an operation
//	matched_fault.go   the result for one operation
//
// # Rules
//
// An operation is compared with the rules in order. Each rule that applies to it draws the next number of
// its own random series, which begins with the rule's seed. The rule hits if the number is below its share.
// The first rule that hits determines the fault. After a rule that only adds latency, the search continues,
// so later rules may hit as well. Therefore the same operations in the same order get the same faults in
// each run. For concurrent operations, the order of the calls of Match counts.
//
// A rule ends after its number of hits, or when its time is over. Its time is measured by the data's clock:
// a rule for one minute does not end while a virtual clock does not advance. An ended rule stays in the
// list, with its counts, until it is deleted.
//
// # Cost
//
// If no rule can hit any more, a call of Match costs one atomic load.
package inject
