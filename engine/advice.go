package engine

// Adviser is an optional interface of an engine whose transactions have a high fixed cost.
type Adviser interface {
	// Advice returns recommended sizes. It always returns the same value.
	Advice() Advice
}

// Advice has recommended sizes for the use of an engine.
type Advice struct {
	// PurgeBatch is the recommended maximum number of expired items that one transaction deletes; 0: no
	// recommendation.
	PurgeBatch int
}

// AdviceOf returns the advice of an engine, or the zero Advice if it has none.
func AdviceOf(e Engine) Advice {
	if a, ok := e.(Adviser); ok {
		return a.Advice()
	}
	return Advice{}
}
