// Package classify converts the errors of the packages below the store to *fault.Error. Only this
// package depends on their types; the rest of the store compares codes.
package classify
