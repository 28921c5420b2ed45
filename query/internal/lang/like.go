package lang

import (
	"strings"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// LikePattern is a compiled pattern of LIKE. It is immutable.
//
// The parts of the pattern between the percent signs are stored as runs of tokens. A token matches exactly
// one character. Match looks for the runs one after the other and uses the first position at which a run
// matches, since a later position would leave less of the text for the following runs. It never goes back.
// The time is at most the length of the text times the length of the pattern.
type LikePattern struct {
	runs  [][]likeToken
	plain string // the pattern as text, if it has one run and no special characters in it
	exact bool   // the pattern consists of plain only
}

// likeToken matches one character.
type likeToken struct {
	kind  likeTokenKind
	char  rune
	spans []likeCharacterRange // of a set
}

// likeTokenKind is the kind of a likeToken.
type likeTokenKind uint8

const (
	likeChar   likeTokenKind = iota // this character
	likeAny                         // _
	likeSet                         // [abc], [a-f]
	likeNotSet                      // [^abc]
)

// likeCharacterRange is a range of characters in a set, including both ends.
type likeCharacterRange struct{ low, high rune }

// CompileLike compiles a pattern of LIKE. % stands for any number of characters, _ for one character, [abc]
// and [a-f] for one of a set, and [^a-f] for one that is not in the set. All other characters, and any
// character after the escape character, stand for themselves. Without escaping there is no escape character.
// An empty or unclosed set matches nothing.
func CompileLike(pattern string, escape rune, escaping bool) *LikePattern {
	p := &LikePattern{runs: [][]likeToken{nil}}
	add := func(t likeToken) { p.runs[len(p.runs)-1] = append(p.runs[len(p.runs)-1], t) }
	for len(pattern) > 0 {
		r, n := utf8.DecodeRuneInString(pattern)
		pattern = pattern[n:]
		switch {
		case escaping && r == escape && pattern != "":
			r, n = utf8.DecodeRuneInString(pattern)
			pattern = pattern[n:]
			add(likeToken{char: r})
		case r == '%':
			p.runs = append(p.runs, nil)
		case r == '_':
			add(likeToken{kind: likeAny})
		case r == '[':
			set, size := compileSet(pattern)
			add(set)
			pattern = pattern[size:]
		default:
			add(likeToken{char: r})
		}
	}
	p.plain, p.exact = p.Prefix()
	return p
}

// compileSet parses a set of characters in a LIKE pattern, such as [a-z] or [^xy]. s is the text after the
// opening bracket; size is the number of its bytes up to and including the closing bracket. A minus at either
// end is a member of the set. If the set is not closed, the result is an empty set and the length of s.
func compileSet(s string) (t likeToken, size int) {
	t.kind = likeSet
	rest := s
	if strings.HasPrefix(rest, "^") {
		t.kind, rest = likeNotSet, rest[1:]
	}
	for {
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case n == 0:
			return likeToken{kind: likeSet}, len(s)
		case r == ']':
			return t, len(s) - len(rest) + 1
		}
		rest = rest[n:]
		span := likeCharacterRange{r, r}
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			span.high, n = utf8.DecodeRuneInString(rest[1:])
			rest = rest[1+n:]
		}
		t.spans = append(t.spans, span)
	}
}

// Prefix returns the text that every matching text begins with, and whether it is the only matching text.
func (p *LikePattern) Prefix() (text string, exact bool) {
	var b strings.Builder
	for _, t := range p.runs[0] {
		if t.kind != likeChar {
			return b.String(), false
		}
		b.WriteRune(t.char)
	}
	return b.String(), len(p.runs) == 1
}

// Begins reports whether the pattern is a text followed by %, such as abc%, so that it matches every text
// that begins with Prefix.
func (p *LikePattern) Begins() bool {
	for _, t := range p.runs[0] {
		if t.kind != likeChar {
			return false
		}
	}
	return len(p.runs) == 2 && len(p.runs[1]) == 0
}

// Match reports whether the whole text matches the pattern.
func (p *LikePattern) Match(m *ResourceLimiter, text []byte) bool {
	if !m.Spend(len(text)) {
		return false
	}
	if p.exact {
		return string(text) == p.plain
	}
	first, last := p.runs[0], p.runs[len(p.runs)-1]
	at, ok := matchPrefix(first, text)
	if !ok || len(p.runs) == 1 {
		return ok && at == len(text)
	}
	text = text[at:]
	for _, run := range p.runs[1 : len(p.runs)-1] {
		for at, ok = matchPrefix(run, text); !ok; at, ok = matchPrefix(run, text) {
			if len(text) == 0 || !m.Spend(len(run)) {
				return false
			}
			_, n := utf8.DecodeRune(text)
			text = text[n:]
		}
		text = text[at:]
	}
	// The last run must match the end of the text, so begin as many characters before the end as the run has
	// tokens.
	from := len(text)
	for range last {
		if from == 0 {
			return false
		}
		_, n := utf8.DecodeLastRune(text[:from])
		from -= n
	}
	_, ok = matchPrefix(last, text[from:])
	return ok
}

// matchPrefix reports whether a prefix of the text matches the run, and the length of that prefix in bytes.
func matchPrefix(run []likeToken, text []byte) (size int, ok bool) {
	for _, t := range run {
		r, n := utf8.DecodeRune(text[size:])
		if n == 0 || !t.takes(r) {
			return 0, false
		}
		size += n
	}
	return size, true
}

func (t *likeToken) takes(r rune) bool {
	switch t.kind {
	case likeChar:
		return r == t.char
	case likeAny:
		return true
	}
	for _, s := range t.spans {
		if s.low <= r && r <= s.high {
			return t.kind == likeSet
		}
	}
	return t.kind == likeNotSet
}

// LikeOf compiles the operands of LIKE; escape is undefined if there is no ESCAPE. It returns nil if the
// operands are invalid: a pattern that is not a string, or an escape that is not one character.
func LikeOf(pattern, escape jsondoc.Value) *LikePattern {
	if pattern.Kind() != jsondoc.String {
		return nil
	}
	if escape.Kind() == jsondoc.Undefined {
		return CompileLike(pattern.Str(), 0, false)
	}
	s := escape.Str()
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || n != len(s) {
		return nil
	}
	return CompileLike(pattern.Str(), r, true)
}

// OpLike matches a value against a pattern compiled by LikeOf. If p is nil, because the
// pattern is not a string, the result is the value undefined.
func OpLike(c *CallContext, v jsondoc.Value, p *LikePattern) jsondoc.Value {
	if p == nil || v.Kind() != jsondoc.String {
		return Undefined
	}
	return jsondoc.BoolValue(p.Match(&c.ResourceLimiter, c.str(0, v)))
}
