// Package archtest keeps the house in order: its tests read the whole module and fail, with file and line,
// where the code leaves the layout that was agreed on.
//
// The rules:
//
//   - arrows: a package imports only what its row in the table of rooms allows; test files may add engines and internal packages.
//   - clock: the time package's clock and timers are used in ttl/clock.go alone, tests included.
//   - error text: no code compares what Error() returns. Tests may, since some texts are part of the protocol.
//   - init: there are no init functions.
//   - state: no package variable is changed after its declaration, and none holds a lock (sync.Pool excepted).
//   - keys: outside the engines, only tx*.go and catalog*.go of the store and of its packages write keys.
//   - views: the store takes a snapshot of an engine in store/stopwatch.go alone: each walk looks at its context.
//   - docs: every package has a doc.go, every exported identifier has a comment.
//   - sizes: the largest cycle of files in package store, lines over 110 columns, files over 400 lines and functions
//     over 60 do not become more than they are.
//   - README: it names the two commands that a newcomer needs. Its links and those of the pages in docs
//     lead to what is there, and docs/README.md lists all pages.
//
// A rule is a function from a package to its violations. Packages are type-checked against the export data
// that "go list" reports, so that a rule asks what an expression is, not how it is spelled.
// TestModule/RulesFire feeds each rule code that breaks it, so that a rule which has gone blind is noticed.
//
// The folder sdktest is a module of its own and is not looked at.
package archtest
