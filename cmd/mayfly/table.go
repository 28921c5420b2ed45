package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/mattn/go-runewidth"
)

// widths computes how many columns of a terminal a text needs: two for each of 日本. A character that is
// wide only in some countries' fonts counts as one, so that tables are the same everywhere.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// table prints rows with aligned cells.
type table struct{ rows [][]string }

// add adds a row.
func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the rows, with two blanks after the widest cell of each column.
func (t *table) print(out io.Writer) error {
	var most []int
	for _, cells := range t.rows {
		for i, c := range cells {
			if i == len(most) {
				most = append(most, 0)
			}
			most[i] = max(most[i], widths.StringWidth(c))
		}
	}
	var text strings.Builder
	for _, cells := range t.rows {
		blanks := 0
		for i, c := range cells {
			if c != "" {
				text.WriteString(strings.Repeat(" ", blanks) + c)
				blanks = 0
			}
			blanks += most[i] + 2
			if c != "" {
				blanks -= widths.StringWidth(c)
			}
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// maxCell is the most columns of the terminal that a value in a table uses.
const maxCell = 60

// plain returns a text without control characters for a terminal, truncated to maxCell.
func plain(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	return short(text)
}

// short returns a text truncated to maxCell.
func short(text string) string { return widths.Truncate(text, maxCell, "…") }

// escaped returns JSON on one line, with control characters for a terminal as JSON escapes.
func escaped(value string) string {
	var text strings.Builder
	for _, r := range value {
		switch {
		case unicode.IsPrint(r):
			text.WriteRune(r)
		case r == '\n' || r == '\r' || r == '\t': // between two tokens: strings never contain them unescaped
			text.WriteByte(' ')
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&text, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&text, `\u%04x`, r)
		}
	}
	return text.String()
}
