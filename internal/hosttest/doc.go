// Package hosttest contains a minimal tenant for tests of package host and of the packages above it. It does
// not depend on documents.
package hosttest
