package cosmos

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/store/definition"
)

// ParsePartitionKey parses the header x-ms-documentdb-partitionkey, a JSON array with one element for each
// path of the partition key.
//
// Not all clients send valid JSON. Go's client quotes with Go's escapes (\a, \v, \x07, \U0001f600), and
// non-ASCII text may arrive as raw UTF-8 or as Latin-1. ParsePartitionKey converts all of this to strict
// JSON for the store.
func ParsePartitionKey(header string) (definition.PartitionKey, error) {
	text := []byte(header)
	if !plainJSON(header) {
		var err error
		if text, err = normalisePartitionKey(header); err != nil {
			return definition.PartitionKey{}, err
		}
	}
	return definition.ParsePartitionKey(text)
}

// plainJSON reports whether a partition key header contains only printable ASCII characters and no
// backslash, so that normalisePartitionKey need not rewrite it.
func plainJSON(s string) bool {
	for i := range len(s) {
		if c := s[i]; c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// normalisePartitionKey rewrites invalid JSON inside the strings of a header.
func normalisePartitionKey(s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		s = fromLatin1(s)
	}
	out := make([]byte, 0, len(s)+16)
	inString := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			inString = !inString
			out = append(out, c)
		case inString && c == '\t':
			out = append(out, `\t`...)
		case inString && c == '\\':
			var used int
			if out, used = appendEscape(out, s[i:]); used == 0 {
				return nil, BadRequest("The partition key in x-ms-documentdb-partitionkey holds a malformed escape.")
			}
			i += used - 1
		default:
			out = append(out, c)
		}
	}
	return out, nil
}

// appendEscape appends the backslash escape at the start of s as an escape that JSON allows, such as
// \u0007 for \a. It returns the number of bytes of s that it has read, or 0 if the escape is malformed.
func appendEscape(out []byte, s string) ([]byte, int) {
	if len(s) < 2 {
		return out, 0
	}
	switch s[1] {
	case 'a':
		return append(out, `\u0007`...), 2
	case 'v':
		return append(out, `\u000b`...), 2
	case 'x':
		if len(s) < 4 || !isHex(s[2:4]) {
			return out, 0
		}
		return append(append(out, `\u00`...), s[2:4]...), 4
	case 'U':
		if len(s) < 10 || !isHex(s[2:10]) {
			return out, 0
		}
		r, err := strconv.ParseUint(s[2:10], 16, 32)
		if err != nil || r < utf8.RuneSelf || r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return out, 0
		}
		return utf8.AppendRune(out, rune(r)), 10
	default: // valid in JSON, or refused later by the store
		return append(out, s[:2]...), 2
	}
}

// fromLatin1 converts Latin-1 to UTF-8.
func fromLatin1(s string) string {
	var b strings.Builder
	b.Grow(2 * len(s))
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

func isHex(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if !('0' <= s[i] && s[i] <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}
