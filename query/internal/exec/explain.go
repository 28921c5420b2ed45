package exec

import (
	"fmt"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"strconv"
	"strings"
	"time"
)

// planNodeStats holds the statistics of one node in a traced run.
type planNodeStats struct {
	rows int64         // rows made by the node
	took time.Duration // time including the nodes that this node reads from
}

// Explain returns the plan as text with the statistics of a run: see Plan.Explain of package query.
func Explain(p *plan.Plan, s Stats) string {
	first := true
	text := p.Text(func(i int) string {
		if first {
			first = false
			return figures(s.Output, tookAt(p, i, s)) + fmt.Sprintf(" (%d bytes)", s.OutputBytes)
		}
		switch n := p.Nodes[i].(type) {
		case *plan.CandidateDocumentsNode:
			return figures(s.Loaded, s.Load) + fmt.Sprintf(" (%d index entries, %d bytes)",
				s.IndexEntries, s.LoadedBytes)
		case *plan.FilterNode:
			if n.OfItems {
				return figures(s.Matched, s.Filter)
			}
		}
		if len(s.nodes) != len(p.Nodes) {
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
	for _, spec := range p.Use.PotentialComposite {
		text += "a composite index would help: (" + strings.Join(spec, ", ") + ")\n"
	}
	for _, spec := range p.Use.PotentialSingle {
		text += "not indexed: " + spec + "\n"
	}
	return text
}

// tookAt returns the measured time of a node, without the time of the nodes that it reads from.
func tookAt(p *plan.Plan, i int, s Stats) time.Duration {
	if len(s.nodes) != len(p.Nodes) {
		return 0
	}
	behind := time.Duration(0)
	if i+1 < len(p.Nodes) {
		if behind = s.nodes[i+1].took; plan.OfDocuments(p.Nodes[i+1]) {
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
