package bench

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
)

// Sizes of a picture in pixels.
const (
	svgWidth = 900
	svgLeft  = 340 // width of the names
	svgBar   = 14
	svgRow   = 46
)

// drawFigures writes a picture of each section that has ratios: for each figure two bars, in proportion to
// each other: one for Mayfly and one for its baseline.
func drawFigures(dir string, figures []Measurement) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the folder: %w", err)
	}
	for from := 0; from < len(figures); {
		to := from
		for to < len(figures) && figures[to].Section == figures[from].Section {
			to++
		}
		text := drawSection(figures[from:to])
		file := filepath.Join(dir, figures[from].Section+".svg")
		if from = to; text == "" {
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write the picture: %w", err)
		}
	}
	return nil
}

// drawSection returns a picture of a section, "" if it has nothing to compare.
func drawSection(figures []Measurement) string {
	var rows strings.Builder
	y := 40
	for _, f := range figures {
		if f.Against == nil || !(f.Value > 0) || !(*f.Against > 0) {
			continue
		}
		text(&rows, svgLeft-10, y+svgBar+4, "end", f.Name)
		longest := max(f.Value, *f.Against)
		for i, bar := range []struct {
			value float64
			color string
		}{{f.Value, "#2b6cb0"}, {*f.Against, "#a0aec0"}} {
			width := max(bar.value/longest*(svgWidth-svgLeft-110), 1)
			top := y + i*(svgBar+2)
			fmt.Fprintf(&rows, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", svgLeft, top,
				width, svgBar, bar.color)
			text(&rows, svgLeft+int(width)+6, top+svgBar-3, "start", f.Unit.text(bar.value))
		}
		y += svgRow
	}
	if rows.Len() == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `, svgWidth, y+6)
	b.WriteString(`font-family="sans-serif" font-size="13">` + "\n")
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	text(&b, 10, 22, "start", figures[0].Section+": Mayfly (blue) and its limit (grey)")
	return b.String() + rows.String() + "</svg>\n"
}

func text(b *strings.Builder, x, y int, anchor, of string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(of))
}
