package engine

// Shared is an optional interface of an Engine whose data several processes may have open at once. State in
// memory must not decide an answer there: another process may have changed the data.
type Shared interface {
	// Shared reports whether other processes may have the engine's data open. The answer never changes.
	Shared() bool
}
