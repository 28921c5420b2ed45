package requestlog

import (
	"bytes"
	"slices"
	"strings"
)

// Bodies are searched by hand: every request of an import has a body as long as the log keeps, and a regular
// expression with alternatives needs more time for it than the store needs for the documents in it.

// secretMembers are the names of JSON members whose values are secrets: permission tokens, keys and passwords
// of Mayfly's own API, and keys of Service Bus's authorization rules.
var secretMembers = []string{"_token", "token", "key", "masterkey", "primarykey", "secondarykey", "secret",
	"password", "authorization", "signature", "connectionstring"}

// secretElements are the names of XML elements whose contents are secrets.
var secretElements = []string{"PrimaryKey", "SecondaryKey", "Token", "SharedAccessKey"}

// secretPairs are the names of the secrets in connection strings and signatures, within other text.
var secretPairs = []string{"SharedAccessKey", "AccountKey", "SharedAccessSignature", "sig"}

// maxSecretName is a length that no name of secretMembers and secretElements exceeds.
const maxSecretName = 16

// secretAtFunc returns the position of the secret that belongs to the byte at i of a text, or ok = false.
type secretAtFunc func(text []byte, i int) (start, end int, ok bool)

// maskAfter returns a text with those secrets masked that secretAt finds at the bytes that are equal to mark.
// A text without secrets is returned itself.
func maskAfter(text []byte, mark byte, secretAt secretAtFunc) []byte {
	var out []byte
	kept := 0 // the text before is in out
	for i := 0; i < len(text); i++ {
		at := bytes.IndexByte(text[i:], mark)
		if at < 0 {
			break
		}
		i += at
		if start, end, ok := secretAt(text, i); ok {
			out = append(append(out, text[kept:start]...), masked...)
			kept, i = end, end // the byte at end belongs to the secret's delimiters
		}
	}
	if kept == 0 {
		return text
	}
	return append(out, text[kept:]...)
}

// secretString returns the value, without its quotes, of the secret member whose name begins after the quote
// at i. The value may be truncated by the end of the text.
func secretString(text []byte, i int) (start, end int, ok bool) {
	name, ok := nameBefore(text[i+1:], '"')
	if !ok || !isOneOf(name, secretMembers) {
		return 0, 0, false
	}
	start = skipBlanks(text, i+len(name)+2)
	if start == len(text) || text[start] != ':' {
		return 0, 0, false
	}
	start = skipBlanks(text, start+1)
	if start == len(text) || text[start] != '"' {
		return 0, 0, false
	}
	start++
	for end = start; end < len(text) && text[end] != '"'; end++ {
		if text[end] == '\\' {
			end++
		}
	}
	return start, min(end, len(text)), true
}

// secretContent returns the content of the secret element whose name begins after the bracket at i.
func secretContent(text []byte, i int) (start, end int, ok bool) {
	name, ok := nameBefore(text[i+1:], '>')
	if !ok || !isOneOf(name, secretElements) {
		return 0, 0, false
	}
	start = i + len(name) + 2
	at := bytes.IndexByte(text[start:], '<')
	return start, start + at, at >= 0 && bytes.HasPrefix(text[start+at:], []byte("</"))
}

// nameBefore returns the text before the given byte, if it is as short as a name.
func nameBefore(text []byte, after byte) (name []byte, ok bool) {
	at := bytes.IndexByte(text[:min(len(text), maxSecretName+1)], after)
	if at < 0 {
		return nil, false
	}
	return text[:at], true
}

// isOneOf reports whether a name, in upper or lower case, is one of names.
func isOneOf(name []byte, names []string) bool {
	for _, n := range names {
		if len(n) == len(name) && strings.EqualFold(n, string(name)) {
			return true
		}
	}
	return false
}

// skipBlanks returns the position of the first byte from i on that is not white space.
func skipBlanks(text []byte, i int) int {
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	return i
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }

// secretAfterEquals returns the secret after the equals sign at i, in a connection string or signature.
func secretAfterEquals(text []byte, i int) (start, end int, ok bool) {
	return secretOfPair(text, i, i+1)
}

// secretAfterEscape returns the secret after an equals sign whose percent escape begins at i.
func secretAfterEscape(text []byte, i int) (start, end int, ok bool) {
	if i+3 > len(text) || !strings.EqualFold(string(text[i:i+3]), "%3d") {
		return 0, 0, false
	}
	return secretOfPair(text, i, i+3)
}

// secretOfPair returns the secret that begins at start, if the text before nameEnd ends with the name of one.
func secretOfPair(text []byte, nameEnd, start int) (_, end int, ok bool) {
	if !endsWithName(text[:nameEnd]) {
		return 0, 0, false
	}
	for end = start; end < len(text) && !endsSecret(text[end]); end++ {
	}
	return start, end, end > start
}

// endsWithName reports whether a text ends with one of secretPairs, in upper or lower case.
func endsWithName(text []byte) bool {
	return slices.ContainsFunc(secretPairs, func(name string) bool {
		return len(text) >= len(name) && strings.EqualFold(string(text[len(text)-len(name):]), name)
	})
}

// endsSecret reports whether a byte ends the value of a secret within other text.
func endsSecret(c byte) bool {
	return isBlank(c) || c == ';' || c == '&' || c == '"' || c == '<' || c == '\\'
}
