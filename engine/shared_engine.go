package engine

// SharedEngine is an optional interface of an engine that several processes may have open at once. Another
// process may then change the data at any time. State that a caller keeps in memory, and on which its results
// depend, is valid for one transaction only: the caller must store it in keys, or compare it with a scope's
// mark (see TxnLSNAndCommitControl.SetMark).
type SharedEngine interface {
	// Shared reports whether another process may read and write the same data at the same time.
	Shared() bool
}

// IsShared reports whether several processes may have an engine open at once.
func IsShared(e Engine) bool {
	s, ok := e.(SharedEngine)
	return ok && s.Shared()
}
