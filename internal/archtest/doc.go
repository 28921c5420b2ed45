// Package archtest checks the structure of the code: its tests read the whole module and fail, with file and
// line, where the code breaks one of the rules below.
//
// The rules:
//
//   - arrows: a package imports only what its row in the table importTable (imports_test.go) allows; test
//     files may also import engines and internal packages.
//   - clock: the time package's clock and timers are used in ttl/clock.go alone, tests included.
//   - error text: no code compares what Error() returns. Tests may, since some texts are part of the
//     protocol.
//   - init: there are no init functions.
//   - state: no package variable is changed after its declaration, and none holds a lock (sync.Pool
//     excepted).
//   - keys: outside the engines, only tx*.go and catalog*.go of the store and of its packages write keys.
//   - views: the store takes a snapshot of an engine in package work alone, which makes each
//     iteration check its context.
//   - docs: every package has a doc.go, every exported identifier has a comment.
//   - sizes: the largest cycle of files in package store does not grow, and neither does the number of
//     lines over 110 columns, of files over 400 lines and of functions over 60 lines.
//   - README: it names the two commands that a newcomer needs. Its links and those of the pages in docs
//     have existing targets, and docs/README.md lists all pages.
//
// A rule is a function from a package to its violations. Packages are type-checked against the export data
// that "go list" reports, so that a rule can use the type of an expression, not only its text.
// TestModuleRules/RulesFire runs each rule on code that breaks it, and fails if the rule does not report it.
//
// The folder sdktest is a module of its own and is not checked.
package archtest
