package layout

import "github.com/mayflydb/mayfly/engine"

// Sequence names one write of a slot for ever: by the LSN of its transaction (40 bits), and by its position
// among the writes of that (8 bits). Clients see the LSN. Keys, rids and etags are made of the whole, so
// that they differ where the writes of a batch share an LSN.
//
// A transaction with more writes than an LSN has positions takes another LSN for the next of them, and is
// known by its last one: see FeedEntry.
type Sequence uint64

const (
	// PositionBits is how many bits of a sequence are the position.
	PositionBits = 8
	// SequenceBits is how many bits a sequence has: as many as a rid has room for.
	SequenceBits = 48

	// An LSN of the engine fits: else this is no constant of its type.
	_ uint64 = 1<<SequenceBits - 1 - (engine.MaxLSN<<PositionBits + 1<<PositionBits - 1)
)

// FirstOf is the first sequence of an LSN. No sequence that an LSN below has comes to it.
func FirstOf(lsn uint64) Sequence { return Sequence(lsn << PositionBits) }

// LastOf is the last sequence that an LSN can have: who has come to the LSN has seen it.
func LastOf(lsn uint64) Sequence { return FirstOf(lsn+1) - 1 }

// LSN is the log sequence number that a sequence was made of.
func (n Sequence) LSN() uint64 { return uint64(n >> PositionBits) }

// Next is the sequence of the same LSN behind this one; ok is false where the LSN has no more.
func (n Sequence) Next() (next Sequence, ok bool) { return n + 1, (n + 1).LSN() == n.LSN() }
