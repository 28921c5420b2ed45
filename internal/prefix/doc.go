// Package prefix computes the end of the range of keys that begin with a prefix, in bytewise order.
//
// It imports nothing of the project.
package prefix
