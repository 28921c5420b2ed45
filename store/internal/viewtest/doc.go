// Package viewtest makes containers for tests of what only looks at them: a state, and an engine that holds
// the items and all their keys. Nothing of the store runs.
package viewtest
