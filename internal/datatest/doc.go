// Package datatest runs tests whose input and expected output stand side by side in a text file.
//
// A file is a sequence of cases. A case is one line with a command and its arguments, any number of input
// lines, a line of four dashes, and the expected output up to the next blank line:
//
//	# Lines that start with '#', outside a case, are comments.
//	parse kind=number strict
//	1.50
//	-0
//	----
//	1.5
//	0
//
// Output that holds blank lines stands between doubled fences, with a blank line after the closing ones:
//
//	print
//	----
//	----
//	first
//
//	second
//	----
//	----
//
// Arguments are separated by blanks. key=value goes to Case.KV, anything else to Case.Args; a value, or a
// whole argument, may be quoted as a Go string when it holds blanks. Input lines are taken as they are,
// except that a line end of Windows is read as a plain one.
//
// The test passes a function from case to output. A difference is reported with the file, the line and a
// diff. With the flag -rewrite the expected outputs are replaced by what the function returned, and nothing
// else in the file changes; the difference is then read in version control:
//
//	go test ./ttl -run Timelines -rewrite
//
// All cases of a file run in order in one test, so that a file can build up a state from case to case.
package datatest
