package view

import (
	"bytes"

	"github.com/mayflydb/mayfly/engine"
)

// ReadPiece reads the first keys of a range with their values, until they have size bytes together. next is
// the key with which the range continues; nil at its end.
func ReadPiece(r engine.Reader, rg engine.Range, size int) (piece []KeyValue, next []byte, err error) {
	it := r.Scan(rg, false)
	for read := 0; it.Next(); {
		if read >= size {
			next = bytes.Clone(it.Key())
			break
		}
		piece = append(piece, KeyValue{Key: bytes.Clone(it.Key()), Value: bytes.Clone(it.Value())})
		read += len(it.Key()) + len(it.Value())
	}
	return piece, next, it.Close()
}
