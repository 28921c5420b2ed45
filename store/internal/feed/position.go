package feed

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// FeedPosition is a position in a change feed: the LSN after which a reader continues. Its text is "<lsn>" if
// the scope is one partition range, and "<range>:<lsn>,<range>:<lsn>" if the scope is several ranges. A
// position stays valid for the ranges that a split creates: an entry keeps its LSN when it is moved, and a
// new range continues the LSNs of its parent. In the log of expiries a position is a sequence, because its
// reader may stop inside a transaction.
type FeedPosition struct {
	all   uint64
	named map[string]uint64
}

// MaxSequence is the highest layout.WriteSequence that a position of a log can hold.
const MaxSequence = 1<<layout.SequenceBits - 1

// ParsePositions parses the position of a reader in a feed or log: one number, or a number for each partition
// range. It fails with CodeBadRequest if text is malformed or has a number that is not below limit, the end
// of the valid numbers. The empty text is the beginning of the feed.
func ParsePositions(text string, limit uint64) (p FeedPosition, err error) {
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
			return FeedPosition{}, badPosition(text)
		}
		if p.named[id], err = parseNumber(number, limit); err != nil {
			return FeedPosition{}, err
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

// Of returns the position in a range: its own, or the highest position of the ranges from which it was
// split. If neither is known, Of returns 0 and the range is read from its beginning.
func (p FeedPosition) Of(r *view.PartitionRange) uint64 {
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

// FormatPositions formats the position of a feed as text: at has one number for each of the ranges. For
// several ranges the text is a list such as "1:17,2:5", range id before number; for one range it is the
// number.
func FormatPositions(ranges []*view.PartitionRange, at []uint64) string {
	if len(ranges) == 0 {
		return "0" // an empty scope: no item can lie in it
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
