package jsondoc

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Path is a parsed property path: the names that lead from an object to a value inside it. It is immutable
// and cheap to copy. The zero Path has no names and leads to the object itself.
type Path struct {
	segments []string
	plain    string // the path in the syntax of gjson, if gjson reads it with the same meaning; else empty
}

// ParsePath parses a path in the syntax of Cosmos DB's policies: /a/b, /"a-b"/c, /'a"b'. Names are separated
// by slashes. A name in double or single quotes may contain any characters; a quote of the same kind and a
// backslash must have a backslash before them. A bare name may contain any characters except / " * ? [ ] and
// must not begin with '. Wildcards and array steps are allowed only in indexing policies, and are refused
// here. The error is a *PathError.
func ParsePath(s string) (Path, error) {
	if !utf8.ValidString(s) {
		return Path{}, &PathError{s, 0, "it is not UTF-8"}
	}
	if s == "" || s[0] != '/' {
		return Path{}, &PathError{s, 0, "it must begin with a slash"}
	}
	var segments []string
	for i := 0; i < len(s); {
		i++ // the slash
		var name string
		end := i
		if i < len(s) && (s[i] == '"' || s[i] == '\'') {
			var reason string
			if name, end, reason = quotedName(s, i); reason != "" {
				return Path{}, &PathError{s, end, reason}
			}
		} else {
			for end < len(s) && s[end] != '/' {
				if strings.IndexByte(`"*?[]`, s[end]) >= 0 {
					return Path{}, &PathError{s, end, "a name with this character must be in double quotes"}
				}
				end++
			}
			if name = s[i:end]; name == "" {
				return Path{}, &PathError{s, i, "a name is missing"}
			}
		}
		segments = append(segments, name)
		i = end
	}
	return PathOf(segments...), nil
}

// quotedName reads the quoted name that begins at s[i]. It returns the name and the index after it. If the
// name is invalid, end is the index of the error and reason describes the error.
func quotedName(s string, i int) (name string, end int, reason string) {
	var b strings.Builder
	quote := s[i]
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			if j++; j == len(s) || s[j] != quote && s[j] != '\\' {
				return "", j - 1, `only \` + string(rune(quote)) + ` and \\ can be escaped`
			}
		case quote:
			if j++; j < len(s) && s[j] != '/' {
				return "", j, "a slash must follow the name in quotes"
			}
			return b.String(), j, ""
		}
		b.WriteByte(s[j])
	}
	return "", i, "the quotes are not closed"
}

// PathOf returns the path that consists of these names.
func PathOf(segments ...string) Path {
	p := Path{segments: slices.Clone(segments)}
	for _, name := range segments {
		if !gjsonAgrees(name) {
			return p
		}
	}
	p.plain = strings.Join(segments, ".")
	return p
}

// gjsonAgrees reports whether gjson reads name as the name of a member and nothing else. gjson also reads
// numbers as array indexes, gives a meaning to punctuation, and treats lone surrogates differently.
func gjsonAgrees(name string) bool {
	letters := false
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_', r >= utf8.RuneSelf && r != utf8.RuneError:
			letters = true
		case r >= '0' && r <= '9':
		default:
			return false
		}
	}
	return letters
}

// String returns the path in the syntax of ParsePath, with quotes around every name that does not consist of
// letters, digits and _ only. Two paths are equal if their strings are equal. For the zero Path it returns
// "".
func (p Path) String() string {
	var b strings.Builder
	for _, name := range p.segments {
		b.WriteByte('/')
		if isBare(name) {
			b.WriteString(name)
			continue
		}
		b.WriteByte('"')
		for i := 0; i < len(name); i++ {
			if name[i] == '"' || name[i] == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(name[i])
		}
		b.WriteByte('"')
	}
	return b.String()
}

func isBare(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c < utf8.RuneSelf && c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') &&
			(c < 'a' || c > 'z') {
			return false
		}
	}
	return name != ""
}

// Segments returns the names, in order. The slice must not be changed.
func (p Path) Segments() []string { return p.segments }

// Get returns the value at path p in the text of an object. It returns undefined if a name is missing or if
// a value on the path is not an object: a path does not enter arrays.
func Get(raw []byte, p Path) Value {
	return Of(raw).Get(p)
}

// getText returns the value at path p in the text of an object, given as a string. It uses gjson, which is
// faster, if the path allows that, as nearly all paths do.
func getText(text string, p Path) Value {
	if p.plain == "" {
		return walkPath(text, p)
	}
	found := gjson.Get(text, p.plain).Raw
	if found == "" {
		return Value{}
	}
	return Value{text: found, kind: kindAt[found[0]]}
}

// walkPath returns the value at a path with any names in the text of an object. It is slower than gjson.
func walkPath(text string, p Path) Value {
	v := Value{text: text, kind: Object}
	for _, name := range p.segments {
		if v.kind != Object {
			return Value{}
		}
		v = v.Member(name)
	}
	return v
}
