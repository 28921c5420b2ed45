// Package datatest runs tests whose input and expected output are together in a text file.
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
// Output that contains blank lines is written between two pairs of such lines of dashes, with a blank line
// after the second pair:
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
// Arguments are separated by blanks. An argument of the form key=value is in TestFileCommand.KV, any other
// one in TestFileCommand.Args. A value, or a whole argument, may be quoted as a Go string if it contains
// blanks. Input lines are used unchanged, except that a line end of Windows is read as a newline.
//
// The test passes a function that returns the output for a case. A difference is reported with the file, the
// line and a diff. With the flag -rewrite the expected outputs in the file are replaced by the results of the
// function, so that the differences can be reviewed in version control:
//
//	go test ./ttl -run Timelines -rewrite
//
// All cases of a file run in order in one test, so that a case can depend on the state that earlier cases
// have left.
package datatest
