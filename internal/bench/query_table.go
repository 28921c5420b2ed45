package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// beginShapes begins the table of a section that measures queries, with one row for each kind of query. If
// sets of several sizes are measured, a last column shows how the times grow with the size.
func (r *reportWriter) beginShapes(conditions string, several bool) {
	r.section = "query"
	r.printf("\nquery: %s\n", conditions)
	last := ""
	if several {
		last = "growth"
	}
	r.shapeRow("", "of", "CPU ms", "wall ms", "documents", "entries", "rows", "pages", last)
}

func (r *reportWriter) shapeRow(name string, columns ...string) {
	line := fmt.Sprintf("  %-47s", name)
	for i, width := range []int{9, 9, 9, 10, 10, 8, 5, 7} {
		line += fmt.Sprintf(" %*s", width, columns[i])
	}
	r.printf("%s\n", strings.TrimRight(line, " "))
}

// addShape adds the measurements of one query to the report and prints them, a row for each set of
// documents on which the query ran.
func (r *reportWriter) addShape(found []QueryMeasurement) {
	for i, s := range found {
		r.shapes = append(r.shapes, s)
		name := s.Name
		if i > 0 {
			name = ""
		}
		if s.Failure != "" {
			r.printf("  %-47s %9s refused: %s\n", name, thousands(int64(s.Documents)), s.Failure)
			continue
		}
		r.shapeRow(name, thousands(int64(s.Documents)), milliseconds(s.CPU, s.Cut),
			milliseconds(s.Wall, s.Cut), thousands(s.Loaded),
			thousands(s.Entries), thousands(s.Rows), strconv.Itoa(s.Pages), r.growthOf(s))
	}
}

// growthOf returns the cell of the column growth: how much more CPU time the query needs than on the
// smallest set of documents; "" if there is only one set. A value above its limit is marked, and counted in
// r.over.
func (r *reportWriter) growthOf(s QueryMeasurement) string {
	if s.Growth == nil {
		return ""
	}
	text := fmt.Sprintf("%7s", digits(*s.Growth))
	if s.Within != nil && !*s.Within {
		r.over++
		text += "  OVER BUDGET (" + s.Budget.text(seconds) + ")"
	}
	return text
}

// milliseconds formats a time with at least two significant digits. If cut is true it is a lower bound, as
// not all pages were read.
func milliseconds(s float64, cut bool) string {
	text := digits(s * 1e3)
	if s < 1e-3 {
		text = strconv.FormatFloat(s*1e3, 'f', 3, 64)
	}
	if cut {
		return ">" + text
	}
	return text
}
