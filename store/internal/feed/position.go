package feed

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Positions is a position in a change feed. It is the LSN behind which a reader goes on: "<lsn>" where its
// scope is one partition range, "<range>:<lsn>,<range>:<lsn>" where it is several. It is good for the ranges
// that come out of a split as well: an entry keeps its LSN when it moves, and a range counts its LSNs on from
// where its parent was. In the log of expiries, whose reader may stop inside of a transaction, it is a
// sequence.
type Positions struct {
	all   uint64
	named map[string]uint64
}

// MaxSequence bounds the sequences that a position can name.
const MaxSequence = 1<<layout.SequenceBits - 1

// ParsePositions reads a position of numbers below a limit: CodeBadRequest for any other text. The empty one
// is the beginning.
func ParsePositions(text string, limit uint64) (p Positions, err error) {
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
			return Positions{}, badPosition(text)
		}
		if p.named[id], err = parseNumber(number, limit); err != nil {
			return Positions{}, err
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

// Of is the position in a range: its own, or that of a range which it was split from. A range that has
// neither is read from its beginning.
func (p Positions) Of(r *view.Range) uint64 {
	if p.named == nil {
		return p.all
	}
	if n, ok := p.named[r.ID]; ok {
		return n
	}
	var n uint64
	for _, parent := range r.Parents {
		n = max(n, p.named[parent])
	}
	return n
}

// FormatPositions is the position in a scope of so many ranges.
func FormatPositions(ranges []*view.Range, at []uint64) string {
	if len(ranges) == 0 {
		return "0" // a scope in which nothing can lie
	}
	if len(ranges) == 1 {
		return strconv.FormatUint(at[0], 10)
	}
	var b []byte
	for i, r := range ranges {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, r.ID...), ':')
		b = strconv.AppendUint(b, at[i], 10)
	}
	return string(b)
}
