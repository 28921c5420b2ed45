package laboratory

import "context"

// TTLLintReport lists the lint findings for a container's default time to live, and for the items that were
// written since the start of the server.
type TTLLintReport struct {
	Container []LintFinding `json:"container" nullable:"false" description:"Findings about the defaultTtl."`

	Items []LintFinding `json:"items" nullable:"false" description:"Findings about writes since the start."`
}

// LintFinding is a violated lint rule.
type LintFinding struct {
	Rule    string                 `json:"rule"`
	Explain string                 `json:"explain"`
	Count   uint64                 `json:"count,omitempty" description:"Number of writes with this finding."`
	Last    *LastLintViolatingItem `json:"last,omitempty" description:"The last item with this finding."`
}

// LastLintViolatingItem is the item whose write was the last one to violate a rule.
type LastLintViolatingItem struct {
	ItemKey
	TTL int64  `json:"ttl,omitempty" description:"The item's own ttl, in seconds."`
	At  string `json:"at" format:"date-time"`
}

func (l *Laboratory) lint(_ context.Context, in *ContainerPath) (TTLLintReport, error) {
	out := TTLLintReport{Container: []LintFinding{}, Items: []LintFinding{}}
	info := in.container.Info()
	found := info.Spec.Lint()
	for _, n := range in.container.LintCounts() {
		if found&n.Rule != 0 {
			out.Container = append(out.Container, LintFinding{Rule: n.Rule.String(), Explain: n.Rule.Text()})
		}
		if last := n.Last; last != nil {
			out.Items = append(out.Items, LintFinding{Rule: n.Rule.String(), Explain: n.Rule.Text(),
				Count: n.Count, Last: &LastLintViolatingItem{keyOf(last.Key), int64(last.TTL),
					second(last.At)}})
		}
	}
	return out, nil
}
