// Package migrate copies a whole store from one engine to another: documents, messages, definitions and
// clocks, key by key. Both engines have the same keys, so nothing is interpreted.
//
//	source ──► rounds of chunks ──► target      Copy: passes over all keys; a pass writes what differs
//	   │                              ▲
//	   └─ Watch ─► changed keys ──────┘         CatchUp: what the source has written meanwhile
//
// A pass reads a chunk of the source in a short View, compares it with the same range of the target, and
// writes the differences. So an interrupted migration continues with a pass that writes little, and a pass
// that writes nothing is the proof that both are equal.
//
// If the source can be watched (engine/pebble), it may be in use meanwhile. The keys that it writes behind
// the place that a pass has reached are noted, and copied again by CatchUp. Finish, when nobody writes any
// more, copies the last of them, which takes a moment, and changes over: see host.EndMigration.
package migrate
