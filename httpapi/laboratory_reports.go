package httpapi

import (
	"encoding/json"

	"github.com/mayflydb/mayfly/store"
)

// itemKey names an item in an answer.
type itemKey struct {
	ID           string          `json:"id"`
	PartitionKey json.RawMessage `json:"partitionKey"`
}

func keyOf(k store.Key) itemKey { return itemKey{k.ID, json.RawMessage(k.Partition.String())} }

// DryRunAnswer is the answer of POST ttl-dry-run: what a change of a container's defaultTtl would do now.
type DryRunAnswer struct {
	From     *int64                  `json:"from"` // null: off
	To       *int64                  `json:"to"`
	Now      string                  `json:"now"`
	Method   string                  `json:"method"`   // exact, or estimated: leases were not looked at
	Complete bool                    `json:"complete"` // false: time was up, and all counts are lower bounds
	Expired  int64                   `json:"expiredAlready"`
	Effects  map[string]DryRunEffect `json:"effects"`   // by name; each living item is in one of them
	After    []DryRunDeadlines       `json:"deadlines"` // of the living items, after the change
}

// DryRunEffect is one effect of the change.
type DryRunEffect struct {
	Count    int64           `json:"count"`
	Examples []DryRunExample `json:"examples,omitempty"`
}

// DryRunExample is an item that it concerns. A moment that is left out is never.
type DryRunExample struct {
	itemKey
	Before string `json:"expiredAtBefore,omitempty"`
	After  string `json:"expiresAtAfter,omitempty"`
}

// DryRunDeadlines counts items by when they expire.
type DryRunDeadlines struct {
	Within string `json:"within"`
	Count  int64  `json:"count"`
}

// deadlineNames are those of the classes of store.DryRun.After.
var deadlineNames = [...]string{"atOnce", "minute", "hour", "day", "week", "month", "later", "never"}

// dryRunTTL is POST .../ttl-dry-run {"defaultTtl": n | -1 | null, "examples"?: n}.
func (s *Server) dryRunTTL(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	b, err := decodeLaboratory(c.req.Body, "defaultTtl", "examples")
	if err != nil {
		return err
	}
	if !b.given["defaultTtl"] {
		return badRequest("The body must have a 'defaultTtl': a number of seconds, -1, or null for off.")
	}
	d, err := coll.DryRunTTL(c.ctx(), b.next, store.DryRunOptions{Examples: b.examples})
	if err != nil {
		return err
	}
	return c.sendJSON(dryRunAnswer(d))
}

func dryRunAnswer(d store.DryRun) DryRunAnswer {
	out := DryRunAnswer{From: defaultTTL(d.From), To: defaultTTL(d.To), Now: second(d.Now), Method: method(d.Exact), Complete: d.Complete,
		Expired: d.Expired, Effects: make(map[string]DryRunEffect, len(d.Effects))}
	for i, e := range d.Effects {
		effect := DryRunEffect{Count: e.Count}
		for _, x := range e.Examples {
			effect.Examples = append(effect.Examples, DryRunExample{keyOf(x.Key), secondOrNever(x.Before), secondOrNever(x.After)})
		}
		out.Effects[store.TTLEffect(i).String()] = effect
	}
	for i, n := range d.After {
		out.After = append(out.After, DryRunDeadlines{deadlineNames[i], n})
	}
	return out
}

func method(exact bool) string {
	if exact {
		return "exact"
	}
	return "estimated"
}

func secondOrNever(s int64) string {
	if s == 0 {
		return ""
	}
	return second(s)
}

// ForecastAnswer is the answer of GET forecast: what is going to expire.
type ForecastAnswer struct {
	Now      string                    `json:"now"`
	Method   string                    `json:"method"`           // exact, or estimated: leases were not looked at
	Complete bool                      `json:"complete"`         // false: time was up, and all counts are lower bounds
	Overdue  int64                     `json:"overdue"`          // expired, and not purged
	Lag      int64                     `json:"lagSeconds"`       // of the oldest of them
	Coming   int64                     `json:"coming"`           // items that will expire
	NextIn   int64                     `json:"nextIn,omitempty"` // seconds until the first of them does
	NextAt   string                    `json:"nextAt,omitempty"` // the same as a moment of the container's clock
	By       map[string][]ForecastStep `json:"by"`               // second, minute, hour, day, month: steps in which something expires
}

// ForecastStep is how many items expire behind From and up to To, both in seconds from now.
type ForecastStep struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Count int64 `json:"count"`
}

func forecastAnswer(f store.Forecast) ForecastAnswer {
	out := ForecastAnswer{Now: second(f.Now), Method: method(f.Exact), Complete: f.Complete, Overdue: f.Overdue, Lag: f.Lag,
		Coming: f.Coming, NextIn: f.Next, By: make(map[string][]ForecastStep, len(f.Ahead))}
	if f.Next > 0 {
		out.NextAt = second(f.Now + f.Next)
	}
	for i, scale := range store.ForecastScales {
		steps := []ForecastStep{}
		for n, count := range f.Ahead[i] {
			if from := int64(n) * scale.Step; count > 0 {
				steps = append(steps, ForecastStep{from, from + scale.Step, count})
			}
		}
		out.By[scale.Name] = steps
	}
	return out
}

// forecast is GET .../forecast of a container.
func (s *Server) forecast(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	f, err := coll.Forecast(c.ctx())
	if err != nil {
		return err
	}
	return c.sendJSON(forecastAnswer(f))
}

// forecastAll is GET /_mayfly/forecast: all containers together.
func (s *Server) forecastAll(c *call) error {
	f, err := s.db.Forecast(c.ctx())
	if err != nil {
		return err
	}
	return c.sendJSON(forecastAnswer(f))
}

// LintAnswer is the answer of GET lint: what is odd about a container's default, and about what was written
// since the start.
type LintAnswer struct {
	Container []LintFinding `json:"container"`
	Items     []LintFinding `json:"items"`
}

// LintFinding is one rule that was broken.
type LintFinding struct {
	Rule    string    `json:"rule"`
	Explain string    `json:"explain"`
	Count   uint64    `json:"count,omitempty"` // of writes
	Last    *LintItem `json:"last,omitempty"`
}

// LintItem is the last write that broke a rule.
type LintItem struct {
	itemKey
	TTL int64  `json:"ttl,omitempty"` // its own
	At  string `json:"at"`
}

// lint is GET .../lint of a container.
func (s *Server) lint(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	out := LintAnswer{Container: []LintFinding{}, Items: []LintFinding{}}
	info := coll.Info()
	found := info.Spec.Lint()
	for _, n := range coll.LintCounts() {
		if found&n.Rule != 0 {
			out.Container = append(out.Container, LintFinding{Rule: n.Rule.String(), Explain: n.Rule.Text()})
		}
		if last := n.Last; last != nil {
			out.Items = append(out.Items, LintFinding{Rule: n.Rule.String(), Explain: n.Rule.Text(), Count: n.Count,
				Last: &LintItem{keyOf(last.Key), int64(last.TTL), second(last.At)}})
		}
	}
	return c.sendJSON(out)
}
