package bench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Measurement is one line of the report. Times are in seconds.
type Measurement struct {
	Section string          `json:"section"`
	Name    string          `json:"name"`
	Value   float64         `json:"value"`
	Unit    measurementUnit `json:"unit"`
	// Against is the value for bare Pebble, the empty server or the idle store; nil if there is no
	// comparison.
	Against *float64              `json:"against,omitempty"`
	Ratio   *float64              `json:"ratio,omitempty"`
	Budget  *measurementThreshold `json:"budget,omitempty"`
	Within  *bool                 `json:"within,omitempty"`
	Note    string                `json:"note,omitempty"`
	// Samples are the single results of which Value or Ratio is the median: ratios if there is a ratio,
	// otherwise values. If there are none, Value or Ratio is a single measurement.
	Samples []float64      `json:"samples,omitempty"`
	Cost    *OperationCost `json:"cost,omitempty"`
}

// OperationCost is the cost of one operation of Mayfly, including everything else that its process did at the
// same time. A member that was not measured is 0.
type OperationCost struct {
	P50        float64 `json:"p50Seconds,omitempty"`
	P99        float64 `json:"p99Seconds,omitempty"`
	P999       float64 `json:"p999Seconds,omitempty"`
	CPU        float64 `json:"cpuSeconds,omitempty"`
	Allocs     float64 `json:"allocations,omitempty"`
	AllocBytes float64 `json:"allocatedBytes,omitempty"`
	// Written is the number of bytes per operation that the process caused to be written to the disk. It is
	// measured on Linux only.
	Written float64 `json:"writtenBytes,omitempty"`
}

// with sets the quantiles from the times of single operations.
func (c *OperationCost) with(l latencies) *OperationCost {
	l = l.sorted()
	c.P50, c.P99, c.P999 = l.quantile(0.5).Seconds(), l.quantile(0.99).Seconds(), l.quantile(0.999).Seconds()
	return c
}

// text describes a cost in one line.
func (c *OperationCost) text() string {
	var parts []string
	if c.P50 > 0 {
		parts = append(parts, fmt.Sprintf("p50 %s, p99 %s, p99.9 %s", seconds.text(c.P50),
			seconds.text(c.P99),
			seconds.text(c.P999)))
	}
	if c.CPU > 0 {
		parts = append(parts, seconds.text(c.CPU)+" of CPU")
	}
	parts = append(parts, fmt.Sprintf("%.1f allocations of %s", c.Allocs, byteCount.text(c.AllocBytes)))
	if c.Written > 0 {
		parts = append(parts, byteCount.text(c.Written)+" written")
	}
	return strings.Join(parts, "; ")
}

// measurementThreshold is a lower or upper limit for a measured figure: for its value, or for its ratio to
// the figure with which it is compared.
type measurementThreshold struct {
	On    string  `json:"on"`    // ratio or value
	Bound string  `json:"bound"` // least or most
	Limit float64 `json:"limit"`
}

func ratioAtLeast(limit float64) *measurementThreshold {
	return &measurementThreshold{"ratio", "least", limit}
}
func ratioAtMost(limit float64) *measurementThreshold {
	return &measurementThreshold{"ratio", "most", limit}
}
func valueAtMost(limit float64) *measurementThreshold {
	return &measurementThreshold{"value", "most", limit}
}

func (b *measurementThreshold) holds(f *Measurement) bool {
	v := f.Value
	if b.On == "ratio" {
		v = *f.Ratio
	}
	if b.Bound == "least" {
		return v >= b.Limit
	}
	return v <= b.Limit
}

func (b *measurementThreshold) text(u measurementUnit) string {
	limit, sign := strconv.FormatFloat(b.Limit, 'f', -1, 64), ">= "
	if b.On == "value" {
		limit = u.text(b.Limit)
	}
	if b.Bound == "most" {
		sign = "<= "
	}
	return sign + limit
}

// measurementUnit is the unit of a figure, which determines how it is printed.
type measurementUnit string

const (
	seconds   measurementUnit = "s"
	perSecond measurementUnit = "/s"
	byteCount measurementUnit = "B"
)

// text formats a value with three or four significant digits.
func (u measurementUnit) text(v float64) string {
	switch u {
	case seconds:
		for _, scale := range []struct {
			name string
			of   float64
		}{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}} {
			if v*scale.of >= 1 {
				return digits(v*scale.of) + " " + scale.name
			}
		}
		return digits(v*1e9) + " ns"
	case byteCount:
		if v >= 10e6 {
			return digits(v/1e6) + " MB"
		}
		return thousands(int64(math.Round(v))) + " B"
	}
	return thousands(int64(math.Round(v))) + string(u)
}

func digits(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// RunConditions describes the conditions of a report's figures.
type RunConditions struct {
	Version       string    `json:"version"`
	Go            string    `json:"go"`
	Platform      string    `json:"platform"`
	CPUs          int       `json:"cpus"`
	Documents     int       `json:"documents"` // of the sections import, start, ttl and purge
	DocumentBytes int       `json:"documentBytes"`
	Seconds       float64   `json:"seconds"`
	SyncSeconds   float64   `json:"syncSeconds"` // median time of syncing 4 KB
	At            time.Time `json:"at"`
}

// reportWriter prints figures to the table as they arrive, and keeps them for the result.
type reportWriter struct {
	out     io.Writer
	about   RunConditions
	section string
	figures []Measurement
	shapes  []QueryMeasurement
	over    int
	err     error // the first printing error
}

func newReport(out io.Writer) *reportWriter { return &reportWriter{out: out} }

func (r *reportWriter) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(r.out, format, args...); err != nil && r.err == nil {
		r.err = err
	}
}

func (r *reportWriter) head(dir string) error {
	a := r.about
	r.printf("mayfly %s  %s %s  %d CPUs\n", a.Version, a.Go, a.Platform, a.CPUs)
	r.printf("documents of %d bytes, 12 values each, default indexing policy, in import, start, ttl and purge %s; every write durable (fsync on: %s for 4 KB in %s)\n",
		a.DocumentBytes, thousands(int64(a.Documents)), seconds.text(a.SyncSeconds), dir)
	r.printf("medians of slices that take turns; the ratio is the median of the pairs\n")
	return r.err
}

// begin prints the head of a section: its name, its conditions, and the names of the columns. against names
// the baseline.
func (r *reportWriter) begin(section, conditions, against string) {
	r.section = section
	r.printf("\n%s: %s\n", section, conditions)
	r.row("", "mayfly", against, "ratio", "budget", "")
}

func (r *reportWriter) row(name, value, against, ratio, limit, mark string) {
	line := fmt.Sprintf("  %-44s %12s %14s %7s  %-12s %s", name, value, against, ratio, limit, mark)
	r.printf("%s\n", strings.TrimRight(line, " "))
}

// add prints a figure and keeps it.
func (r *reportWriter) add(f Measurement) {
	f.Section = r.section
	against, ratio, limit, mark := "", "", "", ""
	if f.Against != nil {
		against = f.Unit.text(*f.Against)
	}
	if f.Ratio != nil {
		ratio = strconv.FormatFloat(*f.Ratio, 'f', 2, 64)
	}
	if f.Budget != nil {
		within := f.Budget.holds(&f)
		f.Within = &within
		limit, mark = f.Budget.text(f.Unit), "ok"
		if !within {
			mark = "OVER BUDGET"
			r.over++
		}
	}
	r.row(f.Name, f.Unit.text(f.Value), against, ratio, limit, mark)
	if f.Cost != nil {
		r.note("  an operation: %s", f.Cost.text())
	}
	r.figures = append(r.figures, f)
}

// note prints a remark on the section.
func (r *reportWriter) note(format string, args ...any) { r.printf("  "+format+"\n", args...) }

func (r *reportWriter) end() error {
	switch r.over {
	case 0:
		r.printf("\nall figures are within their budgets\n")
	case 1:
		r.printf("\n1 figure is over its budget\n")
	default:
		r.printf("\n%d figures are over their budgets\n", r.over)
	}
	return r.err
}
