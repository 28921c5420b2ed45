// Package cli contains what the commands of mayfly share: calls to a running server, flags that may be set by
// environment variables, usage errors, and the printing of results.
//
// A ClientCommandFlags holds the flags that name a server and a container. It makes signed requests; Ask
// sends one and decodes the response. For a response that is not successful it returns a ResponseError.
//
// Run and RunWithVariables make a cobra handler from a command's function. An error of that function is
// wrapped in a CommandError, so that the program can distinguish it from cobra's own errors. A UsageError
// reports an argument, flag or variable with an invalid value.
package cli
