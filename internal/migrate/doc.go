// Package migrate copies a whole store from one engine to another: documents, messages, definitions and
// clocks, key by key. Both engines have the same keys, so nothing is interpreted.
//
//	source ──► rounds of chunks ──► target      Copy: passes over all keys; a pass writes what differs
//	   │                              ▲
//	   └─ Watch ─► changed keys ──────┘         CatchUp: later writes
//
// A pass reads a chunk of the source in a short View, compares it with the same range of the target, and
// writes the differences. So an interrupted migration continues with a pass that writes little, and a pass
// that writes nothing is the proof that both are equal.
//
// If the source can be watched (engine/pebble), it may be in use during the migration. Keys that are
// written below the position of a pass are recorded, and CatchUp copies them again. Finish is called when
// nobody writes any more. It copies the last changed keys, which takes a moment, and makes the target the
// current data: see host.EndMigration.
package migrate
