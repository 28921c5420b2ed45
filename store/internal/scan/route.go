package scan

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// If a scope consists of several partition ranges, each page of Cosmos DB's gateway comes from one of them,
// range after range. Its continuation tokens are JSON and name the range of the next page:
//
//	{"token":"...","range":{"min":"1FFF...","max":"3FFF..."}}
//
// where token is the continuation token of that range alone. If the range has been split since, the page is
// read from its first part. The continuation is then a list, until all parts of the old range have been
// read. It begins with the part that is being read; the remaining parts follow, with the token of the whole
// range. A token that is null or empty is the beginning of the range.

// rangeContinuation is a continuation token in the form of Cosmos DB's gateway, {"token", "range"}, or one
// element of a list of them.
type rangeContinuation struct {
	Token string                `json:"token"`
	Range *continuationKeyRange `json:"range"`
}

// continuationKeyRange is [Min, Max) of effective partition keys in hexadecimal; "" is the lowest, "FF" the
// end of all.
type continuationKeyRange struct {
	Min string `json:"min"`
	Max string `json:"max"`
}

// bounds returns the decoded bounds of the range; ok is false if they are invalid.
func (r *continuationKeyRange) bounds() (b query.SourceKeyRange, ok bool) {
	if r == nil {
		return b, false
	}
	from, err := hex.DecodeString(r.Min)
	if err != nil {
		return b, false
	}
	if r.Max == definition.MaxEPK {
		return query.SourceKeyRange{From: from}, true
	}
	to, err := hex.DecodeString(r.Max)
	return query.SourceKeyRange{From: from, To: to}, err == nil && bytes.Compare(from, to) < 0
}

// tokenRangeOf returns the range of effective partition keys from the start of first to the end of last.
func tokenRangeOf(first, last *view.PartitionRange) *continuationKeyRange {
	token := &continuationKeyRange{Min: definition.EPKHex(first.Min), Max: definition.MaxEPK}
	if len(last.Max) > 0 {
		token.Max = definition.EPKHex(last.Max)
	}
	return token
}

// MultiRangeReadSegment is the part of a read over several ranges that one page covers: it continues in Range
// after Token.
type MultiRangeReadSegment struct {
	over  []query.SourceKeyRange // the spans of the whole read, ascending
	Range *view.PartitionRange
	Token string
	rest  []rangeContinuation // the remaining parts of a range that was split
}

// StageOf returns the part of a read that its next page covers: the range, and the position in it at which
// the client's continuation token says to continue. over are the spans of partition keys to read; at least
// one must overlap a range.
func StageOf(state *view.ContainerAtTime, over []query.SourceKeyRange,
	continuation string) (MultiRangeReadSegment, error) {
	l := MultiRangeReadSegment{over: over}
	if continuation == "" {
		l.Range = firstOver(state, over, nil)
		return l, nil
	}
	bad := fault.New(fault.CodeBadRequest, "Invalid Continuation Token")
	tokens, ok := parseRangeTokens(continuation)
	if !ok {
		return MultiRangeReadSegment{}, bad
	}
	var parts []*view.PartitionRange
	at, _ := tokens[0].Range.bounds()
	for _, s := range rangesOver(state, at.From, at.To) {
		if overlaps(s, over) {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return MultiRangeReadSegment{}, bad
	}
	l.Range, l.Token, l.rest = parts[0], tokens[0].Token, tokens[1:]
	if n := len(parts); n > 1 {
		behind := rangeContinuation{tokens[0].Token, tokenRangeOf(parts[1], parts[n-1])}
		l.rest = append([]rangeContinuation{behind}, l.rest...)
	}
	return l, nil
}

// parseRangeTokens parses a continuation token in the form of Cosmos DB's gateway. Its ranges must be in
// ascending order. ok is false if text is malformed.
func parseRangeTokens(text string) (tokens []rangeContinuation, ok bool) {
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	if json.Unmarshal([]byte(text), &tokens) != nil || len(tokens) == 0 {
		return nil, false
	}
	var before query.SourceKeyRange
	for i, t := range tokens {
		b, ok := t.Range.bounds()
		if !ok || i > 0 && (len(before.To) == 0 || bytes.Compare(before.To, b.From) > 0) {
			return nil, false
		}
		before = b
	}
	return tokens, true
}

// overlaps reports whether the range overlaps one of the spans.
func overlaps(s *view.PartitionRange, over []query.SourceKeyRange) bool {
	for _, o := range over {
		if (len(o.To) == 0 || bytes.Compare(s.Min, o.To) < 0) &&
			(len(s.Max) == 0 || bytes.Compare(o.From, s.Max) < 0) {
			return true
		}
	}
	return false
}

// firstOver returns the first partition range that begins after the range behind and overlaps one of the key
// spans in over, or nil if there is none. A nil behind means that the search starts at the first range.
func firstOver(state *view.ContainerAtTime, over []query.SourceKeyRange,
	behind *view.PartitionRange) *view.PartitionRange {
	for i := range state.Ranges {
		s := &state.Ranges[i]
		if (behind == nil || bytes.Compare(s.Min, behind.Min) > 0) && overlaps(s, over) {
			return s
		}
	}
	return nil
}

// NextToken returns the continuation token for the client after a page that was read in range l.Range. token
// is the continuation inside that range, or "" if the range has been read to its end; the result then begins
// with the next range. start returns the token for the beginning of a range. At the end of all ranges
// NextToken returns "".
func (l MultiRangeReadSegment) NextToken(state *view.ContainerAtTime, token string,
	start func(*view.PartitionRange) (string, error)) (string, error) {
	tokens := l.rest
	switch {
	case token != "":
		tokens = append([]rangeContinuation{{token, tokenRangeOf(l.Range, l.Range)}}, tokens...)
	case len(tokens) == 0:
		next := firstOver(state, l.over, l.Range)
		if next == nil {
			return "", nil
		}
		token, err := start(next)
		if err != nil {
			return "", err
		}
		tokens = []rangeContinuation{{token, tokenRangeOf(next, next)}}
	}
	var text []byte
	var err error
	if len(l.rest) > 0 {
		text, err = json.Marshal(tokens)
	} else {
		text, err = json.Marshal(tokens[0])
	}
	return string(text), err
}

// SpansOver returns the spans of effective partition keys that a list or query in the scope s must read, if
// it may have to read several ranges. It returns none if the scope names one range or one full partition key,
// or contains no range.
func SpansOver(state *view.ContainerAtTime, s value.KeyOrRange) ([]query.SourceKeyRange,
	error) {
	if s.Range != "" {
		return nil, nil
	}
	sp, err := Resolve(state, s)
	switch {
	case err != nil || len(sp.Ranges) == 0 || sp.Levels == state.Keys.Def.Levels():
		return nil, err
	case sp.Prefix != nil:
		return []query.SourceKeyRange{{From: sp.EPK, To: behindPrefix(sp.EPK)}}, nil
	}
	return []query.SourceKeyRange{{From: sp.Min, To: sp.Max}}, nil
}

// SpansOfKeys returns, for each partition key, the interval of effective partition keys (hashes) that it
// covers. The interval of a prefix of a hierarchical key includes all keys that begin with it.
func SpansOfKeys(def *definition.PartitionKeyDefinition,
	keys []definition.PartitionKey) []query.SourceKeyRange {
	spans := make([]query.SourceKeyRange, len(keys))
	for i, key := range keys {
		epk := definition.AppendEPK(nil, def, key)
		spans[i] = query.SourceKeyRange{From: epk, To: behindPrefix(epk)}
	}
	return spans
}
