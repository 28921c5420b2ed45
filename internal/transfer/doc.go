// Package transfer implements the commands import and export.
//
// Export writes the documents of a container to files, or a whole store in the form of a seed. Import stores
// such files, and any seed, in a running server. Both are HTTP clients: they use the public interface of a
// server and open no data folder.
//
// A transfer that stops can be continued. Export writes FILE.part and stores its progress in FILE.state.
// Import stores in FILE.imported how many documents the server has accepted. A progress file is replaced by
// a rename, so a killed process leaves the old file or the new one.
package transfer
