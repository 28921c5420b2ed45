package engine

// Adviser is an optional interface of an engine whose transactions cost much besides their writes.
type Adviser interface {
	// Advice returns how to use the engine well. It does not change.
	Advice() Advice
}

// Advice says how to use an engine well.
type Advice struct {
	// PurgeBatch is how many expired items one transaction should delete at most; 0: no advice.
	PurgeBatch int
}

// AdviceOf returns the advice of an engine, if it has one.
func AdviceOf(e Engine) Advice {
	if a, ok := e.(Adviser); ok {
		return a.Advice()
	}
	return Advice{}
}
