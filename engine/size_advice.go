package engine

// TxnSizeAdviser is an optional interface of an engine that recommends sizes of transactions, since each of
// its transactions has a high fixed cost.
type TxnSizeAdviser interface {
	// Advice returns recommended sizes. It always returns the same value.
	Advice() TxnSizeAdvice
}

// TxnSizeAdvice has the sizes of transactions that an engine recommends.
type TxnSizeAdvice struct {
	// PurgeBatch is the recommended maximum number of expired items that one transaction deletes; 0: no
	// recommendation.
	PurgeBatch int
}

// SizeAdviceOf returns the Advice of an engine that is a TxnSizeAdviser, or the zero TxnSizeAdvice, which
// recommends nothing.
func SizeAdviceOf(e Engine) TxnSizeAdvice {
	if a, ok := e.(TxnSizeAdviser); ok {
		return a.Advice()
	}
	return TxnSizeAdvice{}
}
