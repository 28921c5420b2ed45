// Package cli has what the commands of mayfly share: calls to a running server, flags that may be given as
// environment variables, errors of usage, and how results are printed.
//
// A ServerCall holds the flags that name a server and a container. It makes signed requests; Ask sends one
// and decodes the answer. An answer that is a failure is a Refusal.
//
// Run and RunWithVariables make a cobra handler of a command's function. The error of such a function is
// wrapped in a Failure, by which the program tells it from a call that cobra has refused. UsageError is the
// error of an argument, flag or variable that has a wrong value.
package cli
