// Package fault defines the error type of a store. An Error has a Code for the kind of failure.
//
// All packages of the store can import it. Each wire protocol has one table that maps codes to its own
// statuses. No code compares error text.
package fault
