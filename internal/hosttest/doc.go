// Package hosttest contains a minimal tenant (the code of one kind of data on a storage engine) for tests
// of package host and of the packages above it. It does not depend on documents.
package hosttest
