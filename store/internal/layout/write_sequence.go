package layout

import "github.com/mayflydb/mayfly/engine"

// WriteSequence identifies one write of a range; it is never reused. It consists of the LSN of its
// transaction (40 bits) and its position among the writes of that transaction (8 bits). Clients see only the
// LSN. Keys, rids and etags contain the whole sequence, so that they differ even if the writes of a batch
// share an LSN.
//
// A transaction with more writes than an LSN has positions takes several LSNs and is identified by the last
// one: see FeedEntry.
type WriteSequence uint64

const (
	// PositionBits is the number of bits of a WriteSequence that hold the position of the write among
	// those of its transaction.
	PositionBits = 8
	// SequenceBits is the number of bits of a WriteSequence, the LSN and the position of a write. A rid has
	// no room for more.
	SequenceBits = 48

	// This constant proves that every LSN of the engine fits into a sequence: otherwise it would be
	// negative, and the program would not compile.
	_ uint64 = 1<<SequenceBits - 1 - (engine.MaxLSN<<PositionBits + 1<<PositionBits - 1)
)

// FirstOf returns the first sequence of an LSN. It is above all sequences of lower LSNs.
func FirstOf(lsn uint64) WriteSequence { return WriteSequence(lsn << PositionBits) }

// LastOf returns the last possible sequence of an LSN. A reader at this position has read everything up to
// that LSN.
func LastOf(lsn uint64) WriteSequence { return FirstOf(lsn+1) - 1 }

// LSN returns the log sequence number of the sequence.
func (n WriteSequence) LSN() uint64 { return uint64(n >> PositionBits) }

// Next returns the next sequence of the same LSN; ok is false if the LSN has no more positions.
func (n WriteSequence) Next() (next WriteSequence, ok bool) { return n + 1, (n + 1).LSN() == n.LSN() }
