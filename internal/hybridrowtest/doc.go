// Package hybridrowtest encodes and decodes batches in the format of the .NET client: streams of HybridRow
// rows. Tests of the server and of its protocols share it; it does not use the server's code.
package hybridrowtest
