// Package viewtest creates containers for tests of packages that only read: a State, and an engine that
// holds the items and all their keys. No code of the store runs.
package viewtest
