package engine

// Shared is an optional interface of an engine that several processes may have open at once. State in
// memory on which results depend is then valid for one transaction only: callers must store it in keys, or
// compare it with a scope's mark (see Control.SetMark).
type Shared interface {
	// Shared reports whether another process may read and write the same data at the same time.
	Shared() bool
}

// IsShared reports whether several processes may have an engine open at once.
func IsShared(e Engine) bool {
	s, ok := e.(Shared)
	return ok && s.Shared()
}
