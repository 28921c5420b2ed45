package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestRankSum compares rankSum with values of R's wilcox.test(a, b, exact = FALSE).
func TestRankSum(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 0.01219},
		{[]float64{1, 2, 3, 4, 5}, []float64{1, 2, 3, 4, 5}, 1},
		{[]float64{1, 1, 1}, []float64{1, 1, 1}, 1},
		{nil, []float64{1}, 1},
	} {
		if got := rankSum(c.a, c.b); math.Abs(got-c.want) > 0.0005 {
			t.Errorf("%v, %v: %g, want %g", c.a, c.b, got, c.want)
		}
	}
}

func TestSignificantChanges(t *testing.T) {
	about := func(name string, at float64, lower bool) Measurement {
		f := Measurement{Section: "s", Name: name, Value: 1, Unit: seconds, Ratio: &at, Budget: ratioAtLeast(0.5)}
		if lower {
			f.Budget = ratioAtMost(2)
		}
		for i := range 10 {
			f.Samples = append(f.Samples, at*(1+float64(i-5)/500))
		}
		return f
	}
	old := []Measurement{about("same", 1, false), about("worse", 1, false), about("better", 1, false),
		about("costs more", 1, true),
		about("gone", 1, false), {Section: "s", Name: "one sample", Value: 1, Unit: byteCount}}
	now := []Measurement{about("same", 1.001, false), about("worse", 0.8, false), about("better", 1.2, false),
		about("costs more", 1.3, true), about("new", 1, false),
		{Section: "s", Name: "one sample", Value: 2, Unit: byteCount}}
	list := changes(old, now)
	significant := map[string]bool{}
	for _, c := range list {
		significant[c.Name] = c.Significant
		if better := c.Name == "better"; c.Significant && better != (c.Gain > 0) {
			t.Errorf("%+v", c)
		}
	}
	if len(list) != 5 || significant["same"] || !significant["worse"] || !significant["better"] ||
		!significant["costs more"] || significant["one sample"] {
		t.Errorf("%+v", list)
	}
	if d := dropped(list, 0.1); len(d) != 2 || d[0].Name != "costs more" || d[1].Name != "worse" {
		t.Errorf("%+v", d)
	}
	if d := dropped(list, 0.21); len(d) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestDrawSection(t *testing.T) {
	against, ratio := 200.0, 0.5
	figures := []Measurement{
		{Section: "s", Name: "a < b", Value: 100, Unit: perSecond, Against: &against, Ratio: &ratio},
		{Section: "s", Name: "alone", Value: 1, Unit: seconds}}
	got := drawSection(figures)
	for _, want := range []string{"a &lt; b", ">100/s<", ">200/s<", "</svg>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "alone") || drawSection(figures[1:]) != "" {
		t.Errorf("a figure without a limit is drawn: %s", got)
	}
}

// TestCommittedRatios checks that testdata/ratios.json, the result with which later runs are compared, can
// be read and has figures with enough samples in each section.
func TestCommittedRatios(t *testing.T) {
	r, err := readResult("testdata/ratios.json")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]int{}
	for _, f := range r.Figures {
		if len(f.Samples) >= minSamples {
			sections[f.Section]++
		}
	}
	for _, name := range []string{"read", "create", "import", "ycsb", "feed", "queue", "http", "direct"} {
		if sections[name] == 0 {
			t.Errorf("section %s has no figure with samples", name)
		}
	}
	var names []string
	for _, s := range Sections() {
		names = append(names, s.Name)
	}
	for name := range sections {
		if !slices.Contains(names, name) {
			t.Errorf("there is no section %s", name)
		}
	}
}
