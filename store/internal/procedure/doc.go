// Package procedure runs a container's stored procedures, triggers and user defined functions. Package
// script executes the JavaScript; package store provides the transaction.
//
//	runner.go      Runner: finds, compiles and runs the scripts of one container
//	host.go        Host: the transaction as seen by a script
//	triggers.go    a write with its triggers
//	functions.go   the user defined functions of one query
//	violations.go  blocks scripts that exceed their limits several times
package procedure
