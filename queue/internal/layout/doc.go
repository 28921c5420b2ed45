// Package layout defines the format of messages in the engine: all keys, and the encodings of headers and
// counters. No other package builds or parses these bytes. The table of keys is in keys.go.
//
// The encoding of a header begins with a version. A newer version fails with engine.ErrNewerFormat, data
// that cannot be decoded with engine.ErrCorrupt.
package layout
