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

// widths computes how many columns of a terminal a text takes: 日本 takes two columns per character. A
// character that is wide only in the fonts of some countries counts as one column, so that tables are the
// same everywhere.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// textTable prints rows with aligned cells.
type textTable struct{ rows [][]string }

// add adds a row.
func (t *textTable) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the rows, with two blanks after the widest cell of each column.
func (t *textTable) print(out io.Writer) error {
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

// maxCell is the maximum number of terminal columns of a value in a table.
const maxCell = 60

// plain returns a text without the control characters that a terminal would interpret, truncated to maxCell.
func plain(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	return short(text)
}

// short returns text truncated to the width of a table cell: maxCell columns of a terminal. An ellipsis
// replaces what was cut.
func short(text string) string { return widths.Truncate(text, maxCell, "…") }

// escaped returns value, which is JSON, on one line. Control characters that a terminal would interpret
// become JSON escapes.
func escaped(value string) string {
	var text strings.Builder
	for _, r := range value {
		switch {
		case unicode.IsPrint(r):
			text.WriteRune(r)
		// between two tokens, since strings never contain these unescaped
		case r == '\n' || r == '\r' || r == '\t':
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
