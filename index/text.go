package index

import (
	"unicode"
	"unicode/utf8"
)

// Text is analysed in the same way when it is indexed, when it is searched without an index, and for the
// terms that are looked for:
//
//   - words are runs of letters, digits and marks; an apostrophe between letters belongs to its word; each Chinese character and
//     each hiragana is a word
//   - words are in lower case; in French and Italian what an apostrophe joins to them is taken off
//   - the most frequent words of the language are left out; they keep their place, so that a phrase counts them
//   - words are reduced to their stems ("bikes" and "biking" to "bike") by the Snowball stemmer for the language
//
// The full text policy says of each path which language its texts are in (see Language).

// Token is one word of a text after analysis.
type Token struct {
	Term     string
	Position int // which word of the text it was, from 0, those left out counted
}

// maxWord is how many bytes of a word count. What is longer is no word that anybody looks for.
const maxWord = 100

// AppendTokens appends the tokens of a text to dst, in their order.
func (l Language) AppendTokens(dst []Token, text string) []Token {
	var buf [maxWord + utf8.UTFMax]byte
	for position := 0; ; position++ {
		word, rest := nextWord(buf[:0], text)
		if len(word) == 0 {
			return dst
		}
		text = rest
		if word = l.elide(word); !l.isStopWord(word) {
			dst = append(dst, Token{Term: l.stem(string(word)), Position: position})
		}
	}
}

// nextWord appends the first word of a text in lower case, and returns what comes behind it.
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

// runeClass is what a character is to the analyser.
type runeClass uint8

const (
	other      runeClass = iota
	letter               // or a digit or a mark
	ideograph            // a word by itself, since those languages leave no blanks
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
