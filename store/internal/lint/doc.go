// Package lint counts the writes of a container that are valid but odd: a time to live that looks like
// milliseconds, one in a container that expires nothing, a vector that does not fit.
package lint
