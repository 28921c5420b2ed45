// Package lint counts the writes of a container that are valid but probably mistakes: a time to live that
// looks like milliseconds, a time to live in a container whose expiry is off, a vector that does not fit
// the policy.
package lint
