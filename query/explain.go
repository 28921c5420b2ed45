package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// nodeFigures are what a traced run tells of one node.
type nodeFigures struct {
	rows int64         // that it has made
	took time.Duration // with the nodes behind it
}

// explain returns the plan as text with the figures of a run: see Plan.Explain of package query.
func explain(p *planned, s Stats) string {
	first := true
	text := p.text(func(i int) string {
		if first {
			first = false
			return figures(s.Output, tookAt(p, i, s)) + fmt.Sprintf(" (%d bytes)", s.OutputBytes)
		}
		switch n := p.nodes[i].(type) {
		case *documentsNode:
			return figures(s.Loaded, s.Load) + fmt.Sprintf(" (%d index entries, %d bytes)",
				s.IndexEntries, s.LoadedBytes)
		case *filterNode:
			if n.ofItems {
				return figures(s.Matched, s.Filter)
			}
		}
		if len(s.nodes) != len(p.nodes) {
			return ""
		}
		return figures(s.nodes[i].rows, tookAt(p, i, s))
	})
	depth := strings.Count(text, "\n")
	for _, c := range s.choices {
		text += strings.Repeat("  ", depth) + c.String() + "\n"
	}
	if s.Elapsed > 0 {
		text += "in " + s.Elapsed.String() + "\n"
	}
	for _, spec := range p.use.PotentialComposite {
		text += "a composite index would help: (" + strings.Join(spec, ", ") + ")\n"
	}
	for _, spec := range p.use.PotentialSingle {
		text += "not indexed: " + spec + "\n"
	}
	return text
}

// tookAt is the time that a node took without those behind it, as far as it was measured.
func tookAt(p *planned, i int, s Stats) time.Duration {
	if len(s.nodes) != len(p.nodes) {
		return 0
	}
	behind := time.Duration(0)
	if i+1 < len(p.nodes) {
		if behind = s.nodes[i+1].took; ofDocuments(p.nodes[i+1]) {
			behind = s.Load + s.Filter
		}
	}
	return max(s.nodes[i].took-behind, 0)
}

func figures(n int64, took time.Duration) string {
	text := " -> " + strconv.FormatInt(n, 10)
	if took > 0 {
		text += " in " + took.String()
	}
	return text
}
