// Package script runs JavaScript: user defined functions, stored procedures and triggers, with Cosmos DB's server-side API.
//
// Programs compiles texts and keeps them compiled. Open makes a Runtime, a world of its own with nothing in it but the
// language: no files, no network, no clock but the one that it is given, no randomness but what it is given. A Runtime lives as
// long as one query, which calls its Functions for any number of rows, or as one run of a Procedure; what a script does to the
// built-in objects is gone with it.
//
//	text ─ Programs ─► Runtime ─┬─ Function ─ Call(values) ─► value
//	                            └─ Run(Procedure, Host) ─► Outcome
//
// Values cross the border as JSON, both ways. A Procedure reaches its container through the Host, one operation at a time and
// only after the function that asked for it has returned; context.js is the API that it sees, and everything there that touches
// the database ends in Host.Do. A script that throws, is stopped or gives itself up leaves an error, and its host takes back what
// it has done.
//
// # Limits
//
// The interpreter can be stopped between two instructions, from outside. A goroutine of each Runtime, the watch, looks every few
// milliseconds how long the script has run and how much memory the process has come to hold, and stops it. The depth of calls
// is bounded by the interpreter. What is left are built-in functions that could run or grow without bound inside one
// instruction: sandbox.js, which every Runtime starts with, bounds the length of what they work on and make, refuses costly
// regular expressions, and takes away what cannot be bounded: Proxy, typed arrays, BigInt, and making code of text.
//
// So a script may overdraw its time by what one built-in function takes for a few million elements, and its memory by what
// is allocated in a few milliseconds.
//
// # Errors
//
// *Error: the script threw, or is no JavaScript. *TimeoutError, *TooLargeError: it was stopped. *FaultError: the interpreter
// is to blame.
package script
