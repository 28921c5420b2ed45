package layout

// Room is where a transaction makes its keys: large pieces of memory that many small keys share. The zero
// Room is ready. It is used by one goroutine.
type Room struct {
	mem []byte // one that is outgrown lives on in its keys
}

// Reset gives the room free for the next transaction. No key of the last one may be in use.
func (r *Room) Reset() { r.mem = r.mem[:0] }

// Free is room for a key or a small value. What has been appended to it is kept by Keep, before the next call
// of Free.
func (r *Room) Free() []byte {
	const room, chunk = 256, 1024
	if cap(r.mem)-len(r.mem) < room {
		r.mem = make([]byte, 0, chunk)
	}
	return r.mem[len(r.mem):]
}

// Keep keeps what was appended to Free until Reset.
func (r *Room) Keep(b []byte) []byte {
	if len(b) <= cap(r.mem)-len(r.mem) { // else it has outgrown the room, and is elsewhere
		r.mem = r.mem[:len(r.mem)+len(b)]
	}
	return b[:len(b):len(b)]
}
