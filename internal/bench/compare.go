package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
)

// MeasurementChange is the difference between a figure and the same figure of an older result.
type MeasurementChange struct {
	Section string  `json:"section"`
	Name    string  `json:"name"`
	Before  float64 `json:"before"` // median of the samples (of ratios, if the figure has any)
	After   float64 `json:"after"`
	// Gain is the relative change of the median; above 0 is better.
	Gain float64 `json:"gain"`
	// P is the probability that the samples differ at least as much by chance, by the rank-sum test.
	P           float64 `json:"p"`
	Significant bool    `json:"significant"`
}

const (
	// maxChance is the p-value, and minGain the relative change, from which on a change counts as
	// significant: the p-value must not be above maxChance, and the change not below minGain. A run has
	// about a hundred figures, of which one reaches this p-value by chance.
	maxChance = 0.01
	minGain   = 0.03
	// minSamples is the number of samples that both results must have at least, because with fewer no
	// difference can reach a p-value below maxChance.
	minSamples = 5
)

// RegressionError reports that ratios are worse than those of an older result by more than --max-drop.
type RegressionError struct{ Changes []MeasurementChange }

// Error returns a message with the number of figures that are worse than before, and the name of the worst.
func (e *RegressionError) Error() string {
	w := e.Changes[0]
	return fmt.Sprintf("%d figures are worse by more than --max-drop; the worst: %s, %s by %.0f %%",
		len(e.Changes), w.Section, w.Name, -100*w.Gain)
}

// readResult reads a result that --json has printed.
func readResult(file string) (r RunResult, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return r, &OptionError{"compare", ": " + err.Error()}
	}
	if err := json.Unmarshal(text, &r); err != nil || len(r.Figures) == 0 {
		return r, &OptionError{"compare", " " + file + ": this is no result of bench --json"}
	}
	return r, nil
}

// lowerIsBetter reports whether a smaller sample of the figure is better.
func (f *Measurement) lowerIsBetter() bool {
	switch {
	case f.Budget != nil:
		return f.Budget.Bound == "most"
	case f.Ratio != nil:
		return false
	}
	return f.Unit != perSecond
}

// samples returns the values by which the figure is compared with that of an older run: its samples or, if it
// has none, its ratio or value alone.
func (f *Measurement) samples() []float64 {
	switch {
	case len(f.Samples) > 0:
		return f.Samples
	case f.Ratio != nil:
		return []float64{*f.Ratio}
	}
	return []float64{f.Value}
}

// changes compares figures with those of an older result. It leaves out figures that only one side has.
func changes(before, after []Measurement) (list []MeasurementChange) {
	for i := range after {
		f := &after[i]
		at := slices.IndexFunc(before,
			func(o Measurement) bool { return o.Section == f.Section && o.Name == f.Name })
		if at < 0 {
			continue
		}
		old, now := before[at].samples(), f.samples()
		c := MeasurementChange{Section: f.Section, Name: f.Name, Before: median(old), After: median(now),
			P: rankSum(old, now)}
		c.Gain = c.After/c.Before - 1
		if f.lowerIsBetter() {
			c.Gain = c.Before/c.After - 1
		}
		c.Significant = min(len(old), len(now)) >= minSamples && c.P <= maxChance &&
			math.Abs(c.Gain) >= minGain
		list = append(list, c)
	}
	return list
}

// dropped returns the significant changes for the worse by more than limit, the worst first.
func dropped(list []MeasurementChange, limit float64) (worse []MeasurementChange) {
	for _, c := range list {
		if c.Significant && c.Gain < -limit {
			worse = append(worse, c)
		}
	}
	sort.SliceStable(worse, func(i, j int) bool { return worse[i].Gain < worse[j].Gain })
	return worse
}

// rankSum returns the two-sided probability of the rank-sum test of Wilcoxon, Mann and Whitney, by its normal
// approximation with a correction for ties and for continuity. It is 1 if a side has no samples.
func rankSum(a, b []float64) float64 {
	type sample struct {
		v     float64
		first bool
	}
	var all []sample
	for _, v := range a {
		all = append(all, sample{v, true})
	}
	for _, v := range b {
		all = append(all, sample{v, false})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].v < all[j].v })
	n, m := float64(len(a)), float64(len(b))
	ranks, ties := 0.0, 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		for _, s := range all[i:j] {
			if s.first {
				ranks += float64(i+j+1) / 2 // the mean rank of equal samples
			}
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	mean := n * (n + m + 1) / 2
	variance := n * m / 12 * (n + m + 1 - ties/max((n+m)*(n+m-1), 1))
	if variance <= 0 || n == 0 || m == 0 {
		return 1
	}
	z := max(math.Abs(ranks-mean)-0.5, 0) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}

// addChanges prints the changes of all figures since an older result, which is in the file with this name,
// and marks the significant ones as better or worse.
func (r *reportWriter) addChanges(file string, list []MeasurementChange) {
	r.printf("\ncompared with %s: medians of the ratios, or of the values if there is no ratio; "+
		"p by the rank-sum test\n", file)
	r.row("", "before", "now", "change", "p", "")
	for _, c := range list {
		mark := ""
		switch {
		case c.Significant && c.Gain > 0:
			mark = "better"
		case c.Significant:
			mark = "WORSE"
		}
		r.row(c.Section+": "+c.Name, plain(c.Before), plain(c.After), fmt.Sprintf("%+.0f %%", 100*c.Gain),
			fmt.Sprintf("%.3f", c.P), mark)
	}
}

// plain formats a number of any size.
func plain(v float64) string { return fmt.Sprintf("%.3g", v) }
