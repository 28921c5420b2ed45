// Package classify turns the errors of the packages below a store into *fault.Error. It is the one place that
// knows their types; a store's other code looks at codes alone.
package classify
