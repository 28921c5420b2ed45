// Package procedure runs a container's stored procedures, triggers and user defined functions: package script
// has their JavaScript, package store the transaction that they work in.
//
//	runner.go      Runner: finds, compiles and runs the scripts of one container
//	host.go        Host: one transaction as a script sees it
//	triggers.go    a write between its triggers
//	functions.go   the functions of one query
//	violations.go  scripts that come to their limits several times are blocked
package procedure
