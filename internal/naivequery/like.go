package naivequery

import "slices"

// like implements LIKE. It returns undefined unless both operands are strings and ESCAPE, if given, is one
// character. escaped says that ESCAPE is given.
func like(text, pattern, escape any, escaped bool) any {
	s, ok1 := text.(string)
	p, ok2 := pattern.(string)
	if !ok1 || !ok2 {
		return Undefined{}
	}
	esc := rune(-1)
	if escaped {
		one, _ := escape.(string)
		if len([]rune(one)) != 1 {
			return Undefined{}
		}
		esc = []rune(one)[0]
	}
	return matches([]rune(s), []rune(p), esc)
}

// matches reports whether a pattern matches a whole text.
func matches(s, p []rune, esc rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	switch {
	case p[0] == esc && len(p) > 1:
		return len(s) > 0 && s[0] == p[1] && matches(s[1:], p[2:], esc)
	case p[0] == '%':
		return matches(s, p[1:], esc) || len(s) > 0 && matches(s[1:], p, esc)
	case p[0] == '_':
		return len(s) > 0 && matches(s[1:], p[1:], esc)
	case p[0] == '[':
		if end := slices.Index(p, ']'); end > 1 {
			return len(s) > 0 && inSet(s[0], p[1:end]) && matches(s[1:], p[end+1:], esc)
		}
	}
	return len(s) > 0 && s[0] == p[0] && matches(s[1:], p[1:], esc)
}

// inSet reports whether a character is in a set such as abc, a-f or ^a-f.
func inSet(c rune, set []rune) bool {
	if set[0] == '^' && len(set) > 1 {
		return !inSet(c, set[1:])
	}
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= c && c <= set[i+2] {
				return true
			}
			i += 2
		} else if set[i] == c {
			return true
		}
	}
	return false
}
