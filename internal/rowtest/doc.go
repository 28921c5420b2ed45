// Package rowtest writes and reads batches in the form of .NET, streams of HybridRow rows, as that client
// does. Tests of the server and of its wires share it; it knows nothing of the server's own code.
package rowtest
