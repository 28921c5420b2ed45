// Package script runs JavaScript: user defined functions, stored procedures and triggers, with Cosmos DB's
// server-side API.
//
// ScriptCache compiles scripts and caches the compiled form. Open returns a Runtime: an isolated JavaScript
// environment without files and network. The caller supplies its clock and its random numbers. A Runtime is
// used for one query, which calls its Functions for any number of rows, or for one run of a
// ProcedureOrTriggerCall. Changes that a script makes to built-in objects are visible only in its Runtime.
//
//	text ─ ScriptCache ─► Runtime ─┬─ Function ─ Call(values) ─► value
//	                            └─ Run(ProcedureOrTriggerCall, Host) ─► ProcedureOrTriggerResult
//
// Values are passed in and out as JSON. A ProcedureOrTriggerCall accesses its container through a Host, one
// operation at a time, and only after the JavaScript function that requested the operation has returned.
// context.js defines the API that the script sees; every call that accesses the database ends in Host.Do. If
// a script throws, aborts itself or is stopped, Run returns an error, and the host must undo the script's
// operations.
//
// # Limits
//
// The interpreter runs in a goroutine of the Runtime (executor.go). The caller's goroutine carries out the
// operations that the script requests from its Host. Every few milliseconds it checks the script's running
// time and the memory of the process, and stops the script if necessary. The interpreter can be stopped only
// between two instructions. It limits the depth of calls by itself. While the Host carries out an operation,
// the interpreter's goroutine checks the time, and cancels the context of the operation if necessary.
//
// Some single instructions and built-in functions could run or allocate without limit. rewrite.go wraps
// string additions, templates and spread arguments in calls that check the size. The sandbox (sandbox.go), a
// script that runs at the start of every Runtime, limits the length of the inputs and results of built-in
// functions, and removes what cannot be limited: Proxy, typed arrays, BigInt, and functions that compile
// text. Regular expressions that need backtracking are matched by regexp.go with a time limit.
//
// A script can therefore exceed its time limit by the duration of one built-in function on a million
// elements, and its memory limit by the allocations of a few milliseconds. If a stopped script does not end
// within Limits.Grace, it is abandoned: its caller returns, and the script can no longer access the Host.
// Abandoned scripts are counted until they end. If there are too many, no further script is started.
//
// # Errors
//
// An *Error means that the script threw an exception or is not valid JavaScript. A *TimeoutError or a
// *SizeOrMemoryLimitError means that it was stopped, a *InterpreterPanicError that the interpreter failed,
// and a *TooManyAbandonedScriptsError that the script was not started.
package script
