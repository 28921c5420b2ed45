package engine

// SizeAdviser is an optional interface of an engine that recommends sizes of transactions, since each of its
// transactions has a high fixed cost.
type SizeAdviser interface {
	// Advice returns recommended sizes. It always returns the same value.
	Advice() SizeAdvice
}

// SizeAdvice has the sizes of transactions that an engine recommends.
type SizeAdvice struct {
	// PurgeBatch is the recommended maximum number of expired items that one transaction deletes; 0: no
	// recommendation.
	PurgeBatch int
}

// SizeAdviceOf returns the Advice of an engine that is a SizeAdviser, or the zero SizeAdvice, which
// recommends nothing.
func SizeAdviceOf(e Engine) SizeAdvice {
	if a, ok := e.(SizeAdviser); ok {
		return a.Advice()
	}
	return SizeAdvice{}
}
