// Package transfer has the commands import and export.
//
// Export writes the documents of a container, or of a whole store in the form of a seed, to files. Import
// stores such files, and any seed, in a running server. Both are clients over HTTP: they use what a server
// offers to everybody, and open no data of their own.
//
// A transfer that stops can be continued. Export writes FILE.part, and notes in FILE.state how far it has
// come. Import notes in FILE.imported how many documents have been taken. Notes are replaced by a rename, so
// that a killed process leaves the old one or the new one.
package transfer
