// Package record reads and writes the fields of binary records: varints, fixed-size numbers, and byte strings
// preceded by their length. The cursors and temporary files of queries consist of them.
//
// It imports nothing of the project.
package record
