// Package record reads and writes the fields of binary records: varints, fixed numbers, and byte strings with
// their length in front. Cursors and temporary files of queries consist of them.
//
// It imports nothing of the project.
package record
