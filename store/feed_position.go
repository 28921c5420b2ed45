package store

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// A position in a change feed is the LSN behind which a reader goes on: "<lsn>" where its scope is one
// partition range, "<range>:<lsn>,<range>:<lsn>" where it is several. It is good for the ranges that come out
// of a split as well: an entry keeps its LSN when it moves, and a range counts its LSNs on from where its
// parent was. In the log of expiries, whose reader may stop inside of a transaction, it is a sequence.
type positions struct {
	all   uint64
	named map[string]uint64
}

// maxSequence bounds the sequences that a position can name.
const maxSequence = 1<<layout.SequenceBits - 1

// parsePositions reads a position of numbers below a limit. The empty one is the beginning.
func parsePositions(text string, limit uint64) (p positions, err error) {
	if text == "" {
		return p, nil
	}
	if !strings.ContainsRune(text, ':') {
		p.all, err = parseNumber(text, limit)
		return p, err
	}
	p.named = make(map[string]uint64)
	for rest, more := text, true; more; {
		var one string
		one, rest, more = strings.Cut(rest, ",")
		id, number, found := strings.Cut(one, ":")
		if !found || id == "" {
			return positions{}, badPosition(text)
		}
		if p.named[id], err = parseNumber(number, limit); err != nil {
			return positions{}, err
		}
	}
	return p, nil
}

func parseNumber(text string, limit uint64) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n >= limit || text[0] == '+' {
		return 0, badPosition(text)
	}
	return n, nil
}

func badPosition(text string) error {
	return fault.New(fault.CodeBadRequest, "'"+text+"' is not a position in a change feed.")
}

// of is the position in a range: its own, or that of a range which it was split from. A range that has
// neither is read from its beginning.
func (p positions) of(s *partition) uint64 {
	if p.named == nil {
		return p.all
	}
	if n, ok := p.named[s.id]; ok {
		return n
	}
	var n uint64
	for _, parent := range s.rec.Parents {
		n = max(n, p.named[strconv.Itoa(parent)])
	}
	return n
}

func formatPositions(ranges []*partition, at []uint64) string {
	if len(ranges) == 0 {
		return "0" // a scope in which nothing can lie
	}
	if len(ranges) == 1 {
		return strconv.FormatUint(at[0], 10)
	}
	var b []byte
	for i, s := range ranges {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, s.id...), ':')
		b = strconv.AppendUint(b, at[i], 10)
	}
	return string(b)
}

// mayWant tells, by the first bytes of an EPK, whether an item with it may be in the scope.
func (sp *span) mayWant(first []byte) bool {
	n := len(first)
	return bytes.HasPrefix(first, sp.epk[:min(n, len(sp.epk))]) &&
		bytes.Compare(first, sp.min[:min(n, len(sp.min))]) >= 0 &&
		(len(sp.max) == 0 || bytes.Compare(first, sp.max) < 0)
}
