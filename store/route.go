package store

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// Cosmos DB's gateway answers what goes over several partition ranges with one range a page, range after
// range. Its continuations are JSON and name the range that the next page is of:
//
//	{"token":"...","range":{"min":"1FFF...","max":"3FFF..."}}
//
// where the token is that of a reader of the range alone. If the range has been split since, the page is of
// its first part, and the continuation becomes a list, as long as something of the range is left: the part
// that is being read first, then what lies behind it, which has still the token of the whole. A token that is
// null or empty is the beginning of the range.

// rangeToken is a continuation of the gateway, or one of a list.
type rangeToken struct {
	Token string      `json:"token"`
	Range *tokenRange `json:"range"`
}

// tokenRange is [Min, Max) of effective partition keys in hexadecimal; "" is the lowest, "FF" the end.
type tokenRange struct {
	Min string `json:"min"`
	Max string `json:"max"`
}

// bounds are the bytes of the range.
func (r *tokenRange) bounds() (b query.Span, ok bool) {
	if r == nil {
		return b, false
	}
	from, err := hex.DecodeString(r.Min)
	if err != nil {
		return b, false
	}
	if r.Max == definition.MaxEPK {
		return query.Span{From: from}, true
	}
	to, err := hex.DecodeString(r.Max)
	return query.Span{From: from, To: to}, err == nil && bytes.Compare(from, to) < 0
}

// tokenRangeOf is the range from the beginning of one slot to the end of another.
func tokenRangeOf(first, last *partition) *tokenRange {
	return &tokenRange{first.rec.Min, last.rec.Max}
}

// stage is the part of a way over several ranges that one page goes: on in the range s behind token.
type stage struct {
	over  []query.Span // what the whole way leads over, ascending
	s     *partition
	token string
	rest  []rangeToken // of what was one range with s
}

// stage finds where a continuation leads. The way is over spans of which at least one lies in a range.
func (st *containerState) stage(over []query.Span, continuation string) (stage, error) {
	l := stage{over: over}
	if continuation == "" {
		l.s = st.firstOver(over, nil)
		return l, nil
	}
	bad := fault.New(fault.CodeBadRequest, "Invalid Continuation Token")
	tokens, ok := parseRangeTokens(continuation)
	if !ok {
		return stage{}, bad
	}
	var parts []*partition
	at, _ := tokens[0].Range.bounds()
	for _, s := range st.rangesOver(at.From, at.To) {
		if s.overlaps(over) {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return stage{}, bad
	}
	l.s, l.token, l.rest = parts[0], tokens[0].Token, tokens[1:]
	if n := len(parts); n > 1 {
		behind := rangeToken{tokens[0].Token, tokenRangeOf(parts[1], parts[n-1])}
		l.rest = append([]rangeToken{behind}, l.rest...)
	}
	return l, nil
}

// parseRangeTokens reads a continuation of the gateway: ranges in their order.
func parseRangeTokens(text string) (tokens []rangeToken, ok bool) {
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	if json.Unmarshal([]byte(text), &tokens) != nil || len(tokens) == 0 {
		return nil, false
	}
	var before query.Span
	for i, t := range tokens {
		b, ok := t.Range.bounds()
		if !ok || i > 0 && (len(before.To) == 0 || bytes.Compare(before.To, b.From) > 0) {
			return nil, false
		}
		before = b
	}
	return tokens, true
}

// overlaps reports whether the slot's range has something of one of the spans.
func (s *partition) overlaps(over []query.Span) bool {
	for _, o := range over {
		if (len(o.To) == 0 || bytes.Compare(s.min, o.To) < 0) &&
			(len(s.max) == 0 || bytes.Compare(o.From, s.max) < 0) {
			return true
		}
	}
	return false
}

// firstOver is the first range behind another one, or of all, that has something of the spans; nil: there is
// none.
func (st *containerState) firstOver(over []query.Span, behind *partition) *partition {
	for _, s := range st.ranges {
		if (behind == nil || bytes.Compare(s.min, behind.min) > 0) && s.overlaps(over) {
			return s
		}
	}
	return nil
}

// onward is the continuation of a page that was made on a stage of the way, where the range itself goes on
// with token; "" where it is at its end. Start gives the token of the beginning of a range. The last page has
// none.
func (st *containerState) onward(l stage, token string, start func(*partition) (string,
	error)) (string, error) {
	tokens := l.rest
	switch {
	case token != "":
		tokens = append([]rangeToken{{token, tokenRangeOf(l.s, l.s)}}, tokens...)
	case len(tokens) == 0:
		next := st.firstOver(l.over, l.s)
		if next == nil {
			return "", nil
		}
		token, err := start(next)
		if err != nil {
			return "", err
		}
		tokens = []rangeToken{{token, tokenRangeOf(next, next)}}
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

// spansOf are the spans of effective partition keys that a scope leads over range by range; none where it
// names one range or one partition key, or has no range at all.
func (c *Container) spansOf(st *containerState, s Scope) ([]query.Span, error) {
	if s.Range != "" {
		return nil, nil
	}
	sp, err := c.scope(st, s)
	switch {
	case err != nil || len(sp.ranges) == 0 || sp.levels == c.def.Levels():
		return nil, err
	case sp.prefix != nil:
		return []query.Span{{From: sp.epk, To: behindPrefix(sp.epk)}}, nil
	}
	return []query.Span{{From: sp.min, To: sp.max}}, nil
}

// spansOfKeys are the spans of full partition keys, or of what lies below beginnings of them.
func (c *Container) spansOfKeys(keys []definition.PartitionKey) []query.Span {
	spans := make([]query.Span, len(keys))
	for i, key := range keys {
		epk := definition.AppendEPK(nil, &c.def, key)
		spans[i] = query.Span{From: epk, To: behindPrefix(epk)}
	}
	return spans
}
