package engine

// TxnSize adds up the bytes that a transaction writes, for an engine that refuses transactions that are too
// large.
type TxnSize struct {
	Bytes int  // of keys and values
	Large bool // Enlarge has been called
}

// Add counts a write of n bytes (key and value together) at key. It returns ErrEmptyKey for an empty key,
// and ErrTooLarge if the transaction exceeds its limit.
func (s *TxnSize) Add(key []byte, n int) error {
	most := MaxTxnBytes
	if s.Large {
		most = MaxLargeTxnBytes
	}
	s.Bytes += n
	switch {
	case len(key) == 0:
		return ErrEmptyKey
	case s.Bytes > most:
		return ErrTooLarge
	}
	return nil
}
