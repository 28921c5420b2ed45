// Package hosttest has a tenant for tests of package host, and of what stands on it: the least that a kind of
// data needs to live there. It knows nothing of documents.
package hosttest
