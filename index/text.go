package index

import (
	"unicode"
	"unicode/utf8"
)

// Text is analysed in the same way for indexing, for searches without an index, and for search terms:
//
//   - A word is a run of letters, digits and marks. An apostrophe between letters belongs to its word. Each
//     Chinese character and each hiragana is a word.
//   - Words are converted to lower case. In French and Italian an elided article or pronoun and its
//     apostrophe are removed.
//   - The most frequent words of the language are left out. They keep their position, so that phrases
//     count them.
//   - Words are reduced to their stems ("bikes" and "biking" to "bike") by the Snowball stemmer of the
//     language.
//
// The full text policy sets the language of the texts at each path (see Language).

// TextToken is one word of a text after analysis.
type TextToken struct {
	Term     string
	Position int // number of the word in the text, from 0, counting the words left out
}

// maxWord is the maximum number of bytes of a word that are used; longer words are cut.
const maxWord = 100

// AppendTokens appends the tokens of a text to dst, in their order.
func (l Language) AppendTokens(dst []TextToken, text string) []TextToken {
	var buf [maxWord + utf8.UTFMax]byte
	for position := 0; ; position++ {
		word, rest := nextWord(buf[:0], text)
		if len(word) == 0 {
			return dst
		}
		text = rest
		if word = l.elide(word); !l.isStopWord(word) {
			dst = append(dst, TextToken{Term: l.stem(string(word)), Position: position})
		}
	}
}

// nextWord appends the first word of a text in lower case and returns the rest of the text.
func nextWord(dst []byte, text string) (word []byte, rest string) {
	for i, r := range text {
		size := utf8.RuneLen(r)
		switch class := classOf(r); {
		case class == ideograph && len(dst) == 0:
			return utf8.AppendRune(dst, r), text[i+size:]
		case class == letter:
			if len(dst) < maxWord {
				dst = utf8.AppendRune(dst, unicode.ToLower(r))
			}
		case class == apostrophe && len(dst) > 0 && classOf(firstRune(text[i+size:])) == letter:
			if len(dst) < maxWord {
				dst = append(dst, '\'')
			}
		case len(dst) > 0:
			return dst, text[i:]
		}
	}
	return dst, ""
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// runeClass is the class of a character, by which full-text indexing divides a text into words.
type runeClass uint8

const (
	other      runeClass = iota
	letter               // or a digit or a mark
	ideograph            // a word by itself, because these scripts have no spaces
	apostrophe           // part of a word if it has letters on both sides
)

func classOf(r rune) runeClass {
	switch {
	case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9':
		return letter
	case r == '\'' || r == '\u2019':
		return apostrophe
	case r < utf8.RuneSelf:
		return other
	case unicode.In(r, unicode.Han, unicode.Hiragana):
		return ideograph
	case unicode.In(r, unicode.L, unicode.N, unicode.M):
		return letter
	}
	return other
}
