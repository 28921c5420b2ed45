package engine

// SizeAdviser is an optional interface of an engine whose transactions have a high fixed cost.
type SizeAdviser interface {
	// Advice returns recommended sizes. It always returns the same value.
	Advice() SizeAdvice
}

// SizeAdvice has recommended sizes for the use of an engine.
type SizeAdvice struct {
	// PurgeBatch is the recommended maximum number of expired items that one transaction deletes; 0: no
	// recommendation.
	PurgeBatch int
}

// SizeAdviceOf returns the advice of an engine, or the zero SizeAdvice if it has none.
func SizeAdviceOf(e Engine) SizeAdvice {
	if a, ok := e.(SizeAdviser); ok {
		return a.Advice()
	}
	return SizeAdvice{}
}
