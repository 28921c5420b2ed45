// Package fault is the error of a store: one type, with a Code that says what kind of failure it is.
//
// It lies below all rooms of the store, so that each can say what it means. A wire has one table from codes
// to its protocol's statuses. No code compares error text.
package fault
