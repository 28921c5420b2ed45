package lang

import (
	"strings"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// LikePattern is a pattern of LIKE, compiled. It is immutable.
//
// It holds what is between the percent signs as runs of tokens. Only a percent sign can take more or less
// than one character, so a match looks for the runs one after the other and always takes the first place
// where one fits: what a later place could give, an earlier one gives as well. The time is at most that of
// the text times the pattern, with no backtracking.
type LikePattern struct {
	runs  [][]likeToken
	plain string // the text itself where the pattern has nothing special, and one run
	exact bool   // plain is all
}

// likeToken takes one character.
type likeToken struct {
	kind  likeKind
	char  rune
	spans []likeSpan // of a set
}

type likeKind uint8

const (
	likeChar   likeKind = iota // this character
	likeAny                    // _
	likeSet                    // [abc], [a-f]
	likeNotSet                 // [^abc]
)

type likeSpan struct{ low, high rune }

// CompileLike compiles a pattern of LIKE: % stands for any run of characters, _ for one character, [abc] and
// [a-f] for one of a set and [^a-f] for one outside of it; all else, and whatever follows the escape
// character, for itself. Nothing matches an empty set, nor one that is not closed.
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

// compileSet reads a set up to its closing bracket and returns how many bytes it takes, or all of s and an
// empty set where it is not closed. A minus at either end belongs to the set.
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
		span := likeSpan{r, r}
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			span.high, n = utf8.DecodeRuneInString(rest[1:])
			rest = rest[1+n:]
		}
		t.spans = append(t.spans, span)
	}
}

// Prefix returns the text that whatever matches begins with, and whether only that text itself matches.
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

// Begins reports whether all texts match that begin with the prefix.
func (p *LikePattern) Begins() bool {
	for _, t := range p.runs[0] {
		if t.kind != likeChar {
			return false
		}
	}
	return len(p.runs) == 2 && len(p.runs[1]) == 0
}

// Match reports whether the whole text fits the pattern.
func (p *LikePattern) Match(m *Meter, text []byte) bool {
	if !m.Spend(len(text)) {
		return false
	}
	if p.exact {
		return string(text) == p.plain
	}
	first, last := p.runs[0], p.runs[len(p.runs)-1]
	at, ok := fit(first, text)
	if !ok || len(p.runs) == 1 {
		return ok && at == len(text)
	}
	text = text[at:]
	for _, run := range p.runs[1 : len(p.runs)-1] {
		for at, ok = fit(run, text); !ok; at, ok = fit(run, text) {
			if len(text) == 0 || !m.Spend(len(run)) {
				return false
			}
			_, n := utf8.DecodeRune(text)
			text = text[n:]
		}
		text = text[at:]
	}
	// The last run must end where the text ends: go as many characters back as it has.
	from := len(text)
	for range last {
		if from == 0 {
			return false
		}
		_, n := utf8.DecodeLastRune(text[:from])
		from -= n
	}
	_, ok = fit(last, text[from:])
	return ok
}

// fit reports whether the text begins with what the run takes, and how many bytes that is.
func fit(run []likeToken, text []byte) (size int, ok bool) {
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

// LikeOf compiles the operands of LIKE; escape is undefined where there is no ESCAPE. It returns nil where
// they are none: a pattern that is not a string, an escape that is not one character.
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

// OpLike matches a value against a pattern that LikeOf has compiled; nil matches nothing, nor does it differ
// from anything.
func OpLike(c *Call, v jsondoc.Value, p *LikePattern) jsondoc.Value {
	if p == nil || v.Kind() != jsondoc.String {
		return Undefined
	}
	return jsondoc.BoolValue(p.Match(&c.Meter, c.str(0, v)))
}
