package layout

// KeyArena is the memory in which a transaction builds its keys: many small keys share a large chunk. The
// zero KeyArena is ready to use. A KeyArena must be used by one goroutine only.
type KeyArena struct {
	mem []byte // the current chunk; keys still refer to earlier chunks
}

// Reset makes the memory free for the next transaction. No key of the last transaction may be in use.
func (r *KeyArena) Reset() { r.mem = r.mem[:0] }

// Free returns an empty slice with capacity for a key or a small value. The caller appends to it and
// passes the result to Keep before the next call of Free.
func (r *KeyArena) Free() []byte {
	const room, chunk = 256, 1024
	if cap(r.mem)-len(r.mem) < room {
		r.mem = make([]byte, 0, chunk)
	}
	return r.mem[len(r.mem):]
}

// Keep reserves the bytes of b, which the caller has appended to the slice that Free returned, until Reset.
func (r *KeyArena) Keep(b []byte) []byte {
	if len(b) <= cap(r.mem)-len(r.mem) { // otherwise append has allocated b outside of the chunk
		r.mem = r.mem[:len(r.mem)+len(b)]
	}
	return b[:len(b):len(b)]
}
