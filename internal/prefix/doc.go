// Package prefix holds the end of the range of keys that begin with a prefix, in the order of bytes.
//
// It imports nothing of the project.
package prefix
