// Package procedure runs a container's stored procedures, triggers and user defined functions. Package
// script executes the JavaScript; package store provides the transaction.
//
//	runner.go             ScriptRunner: finds, compiles and runs the scripts of one container
//	script_host.go        ScriptHost: the transaction as seen by a script
//	triggers.go           a write with its triggers
//	user_functions.go     the user defined functions of one query
//	violation_counts.go   blocks scripts that exceed their limits several times
package procedure
