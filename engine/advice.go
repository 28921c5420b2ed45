package engine

// Adviser is an optional interface of an engine that recommends sizes of transactions, since each of its
// transactions has a high fixed cost.
type Adviser interface {
	// Advice returns recommended sizes. It always returns the same value.
	Advice() Advice
}

// Advice has the sizes of transactions that an engine recommends.
type Advice struct {
	// PurgeBatch is the recommended maximum number of expired items that one transaction deletes; 0: no
	// recommendation.
	PurgeBatch int
}

// AdviceOf returns the Advice of an engine that is an Adviser, or the zero Advice, which recommends nothing.
func AdviceOf(e Engine) Advice {
	if a, ok := e.(Adviser); ok {
		return a.Advice()
	}
	return Advice{}
}
