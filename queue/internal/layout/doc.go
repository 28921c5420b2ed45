// Package layout defines how messages lie in the engine: every key, and the stored forms of headers and
// counters. No other package builds or parses these bytes. The table of keys is in keys.go.
//
// The stored forms carry a version. A header of a newer version fails with engine.ErrNewerFormat, one that
// cannot be read with engine.ErrCorrupt.
package layout
