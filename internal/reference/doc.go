// Reference writes the Go reference of the documentation: one page for each package that programs import,
// made from its doc comments, declarations and examples.
//
//	go run ./internal/reference
//
// It writes docs/reference/*.md below the current folder. A test checks that the pages are up to date.
package main
