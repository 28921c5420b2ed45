// Package script runs JavaScript: user defined functions, stored procedures and triggers, with Cosmos DB's
// server-side API.
//
// Programs compiles texts and keeps them compiled. Open makes a Runtime, a world of its own with nothing in
// it but the language: no files, no network, no clock but the one that it is given, no randomness but what it
// is given. A Runtime lives as long as one query, which calls its Functions for any number of rows, or as one
// run of a Procedure; what a script does to the built-in objects is gone with it.
//
//	text ─ Programs ─► Runtime ─┬─ Function ─ Call(values) ─► value
//	                            └─ Run(Procedure, Host) ─► Outcome
//
// Values cross the border as JSON, both ways. A Procedure reaches its container through the Host, one
// operation at a time and only after the function that asked for it has returned; context.js is the API that
// it sees, and everything there that touches the database ends in Host.Do. A script that throws, is stopped
// or gives itself up leaves an error, and its host takes back what it has done.
//
// # Limits
//
// The interpreter runs in a goroutine of the Runtime, its room. Who calls a script attends: it does what the
// script asks its Host for, looks every few milliseconds how long the script has run and how much memory the
// process has come to hold, and stops it. The interpreter can be stopped between two instructions; the depth
// of calls is bounded by itself. While the Host works the room looks at the time, and ends the context that
// the Host was given.
//
// What is left are instructions and built-in functions that could run or grow without bound by themselves.
// rewrite.go puts a call around additions of texts, templates and what is spread into arguments. The sandbox
// (sandbox.go), which every Runtime starts with, bounds the length of what built-in functions work on and
// make, and takes away what cannot be bounded: Proxy, typed arrays, BigInt, and making code of text. Regular
// expressions that have to try are matched by regexp.go, which gives up after a while.
//
// So a script may overdraw its time by what one built-in function takes for a million elements, and its
// memory by what is allocated in a few milliseconds. Where that should not hold, the last defence does: a
// script that does not end within Limits.Grace of being stopped is left behind. Its caller goes on without
// it, and it cannot reach the Host any more. How many there are is counted until they end, and where there
// are too many no other is begun.
//
// # Errors
//
// *Error: the script threw, or is no JavaScript. *TimeoutError, *TooLargeError: it was stopped. *FaultError:
// the interpreter is to blame. *BusyError: it was not begun.
package script
