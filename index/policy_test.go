package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func TestPolicy(t *testing.T) {
	datatest.Run(t, "testdata/policy.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
		around := PolicyValidationContext{Geometry: c.Flag("geometry")}
		if v := c.String("vector", ""); v != "" {
			around.Vectors = map[string]int{v: int(c.Int("dimensions", 0))}
		}
		if f := c.String("fulltext", ""); f != "" {
			around.FullText = []string{f}
		}
		p, err := Parse([]byte(c.Input))
		if err == nil {
			err = p.Validate(around)
		}
		if err != nil {
			var own *PolicyError
			if !errors.As(err, &own) {
				t.Errorf("%s: %T is not a PolicyError", c.Pos, err)
			}
			return "refused: " + err.Error()
		}
		return roundTrip(t, c, p)
	})
}

// roundTrip returns the policy's JSON, and checks that Parse reads an equal policy from it, which
// Normalize does not change.
func roundTrip(t *testing.T, c *datatest.TestFileCommand, p Policy) string {
	text, err := json.Marshal(p)
	if err != nil {
		c.Fatalf("%v", err)
	}
	again, err := Parse(text)
	if err != nil {
		c.Fatalf("%s is not read back: %v", text, err)
	}
	before := fmt.Sprintf("%#v", again)
	again.Normalize()
	if after := fmt.Sprintf("%#v", again); after != before || !again.Equal(p) {
		t.Errorf("%s: not stable: %s, %s", c.Pos, before, after)
	}
	return string(text)
}

func TestPathPrecedence(t *testing.T) {
	datatest.Run(t, "testdata/precedence.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
		lines := strings.Split(strings.TrimSpace(c.Input), "\n")
		p, err := Parse([]byte(lines[0]))
		if err != nil {
			c.Fatalf("%v", err)
		}
		var b strings.Builder
		for _, line := range lines[1:] {
			place, err := ParsePattern(line + "/?")
			if err != nil {
				c.Fatalf("%v", err)
			}
			fmt.Fprintf(&b, "%-34s %v\n", line, p.Indexed(place.Segments()...))
		}
		return b.String()
	})
}

// plainIndexed reports whether a policy indexes a path. Of all patterns that match the path, the most
// precise one decides. Tests compare a PolicyMatcher with it.
func plainIndexed(p Policy, path []PathSegment) bool {
	best, says := -1, false
	weigh := func(list []IncludedOrExcludedPath, verdict bool) {
		for _, spec := range list {
			pattern, err := ParsePattern(spec.Path)
			if err != nil || !pattern.Matches(path...) {
				continue
			}
			precision := 2 * len(pattern.Segments())
			if !pattern.Subtree() {
				precision++
			}
			if precision > best {
				best, says = precision, verdict
			}
		}
	}
	weigh(p.Included, true)
	weigh(p.Excluded, false)
	return says
}

func TestPathMatcher(t *testing.T) {
	segment := rapid.SampledFrom([]PathSegment{{Name: "a"}, {Name: "b"}, {Name: "c/d"}, {Element: true}})
	place := rapid.SliceOfN(segment, 0, 4)
	pattern := rapid.Custom(func(t *rapid.T) IncludedOrExcludedPath {
		p := PathPattern{segments: place.Draw(t, "segments"), subtree: rapid.Bool().Draw(t, "subtree")}
		if len(p.segments) == 0 {
			p.subtree = true
		}
		return IncludedOrExcludedPath{Path: p.String()}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{
			Included: rapid.SliceOfN(pattern, 0, 4).Draw(t, "included"),
			Excluded: rapid.SliceOfN(pattern, 0, 4).Draw(t, "excluded"),
		}
		p.Normalize()
		m, err := Compile(p)
		if err != nil {
			return // the same path in both lists
		}
		path := place.Draw(t, "path")
		c, barren := m.Root(), false
		for _, s := range path {
			barren = barren || c.IsEmpty()
			if s.Element {
				c = c.Element()
			} else {
				c = c.Property(s.Name)
			}
		}
		want := plainIndexed(p, path)
		if c.Indexed() != want || p.Indexed(path...) != want {
			t.Fatalf("%v is indexed: %v, should be %v", path, c.Indexed(), want)
		}
		if (barren || c.IsEmpty()) && want {
			t.Fatalf("%v is indexed behind a place that is said to be barren", path)
		}
	})
}

func TestNormalizeKeepsInputSlices(t *testing.T) {
	composite := []CompositePathSpec{{Path: "/a"}, {Path: "/b"}}
	p := Policy{
		Included:  []IncludedOrExcludedPath{{Path: "/"}},
		Excluded:  make([]IncludedOrExcludedPath, 0, 4),
		Composite: [][]CompositePathSpec{composite},
		Spatial:   []SpatialPath{{Path: "/l/*", Types: []string{"Point"}}},
		Vector:    []VectorPath{{Path: "/v", Type: "FLAT"}},
	}
	before := p
	p.Normalize()
	if before.Included[0].Path != "/" || composite[0].Order != "" || len(before.Spatial[0].Types) != 1 ||
		before.Vector[0].Type != "FLAT" || before.Excluded[:1][0].Path != "" {
		t.Errorf("the caller's slices were changed: %+v", before)
	}
	if p.Composite[0][0].Order != "ascending" || len(p.Spatial[0].Types) != 4 || p.Vector[0].Type != "flat" {
		t.Errorf("not normalised: %+v", p)
	}
}

func TestZeroPolicyIsDefault(t *testing.T) {
	if !(Policy{}).IsZero() || Default().IsZero() {
		t.Error("IsZero is wrong")
	}
	if !(Policy{}).Equal(Default()) || Default().Equal(Policy{Mode: None}) {
		t.Error("Equal is wrong")
	}
	if err := Default().Validate(PolicyValidationContext{}); err != nil {
		t.Error(err)
	}
	if (&Policy{Included: []IncludedOrExcludedPath{{Path: "nonsense"}}}).Indexed(PathSegment{Name: "a"}) {
		t.Error("a policy that is not valid indexes something")
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"/*", "/", "/?", "/a/?", `/"a/b"/[]/*`, `/"\""/?`, `/"[]"/?`, "/a/[]x/?",
		"//?", "", `/"`, `/"a"b/?`, "/é/?", "/\xff/?"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePattern(s)
		if err != nil {
			var own *PolicyError
			if !errors.As(err, &own) {
				t.Fatalf("%T", err)
			}
			return
		}
		again, err := ParsePattern(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q prints as %q, which reads as %q, %v", s, p, again, err)
		}
		if !p.Matches(p.Segments()...) ||
			p.Matches(append(p.Segments(), PathSegment{Name: "x"})...) != p.Subtree() {
			t.Fatalf("%q does not match what it should", s)
		}
	})
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"includedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/a/?","types":["Point"],"boundingBox":{"xmin":1}}]}`))
	f.Add([]byte(`{"compositeIndexes":[[{}],null],"vectorIndexes":[{}],"fullTextIndexes":[null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := Parse(raw)
		if err != nil {
			return
		}
		text, err := p.MarshalJSON()
		if err != nil || jsondoc.Valid(text, jsondoc.Limits{}) != nil {
			t.Fatalf("%q has no JSON: %q, %v", raw, text, err)
		}
		if again, err := Parse(text); err != nil || !again.Equal(p) {
			t.Fatalf("%q is not stable: %q, %v", raw, text, err)
		}
		_ = p.Validate(PolicyValidationContext{})
	})
}

// TestLegacyIndexes checks that the obsolete settings of paths (kind, data type), which old clients send,
// are returned to clients, and do not make index definitions unequal.
func TestLegacyIndexes(t *testing.T) {
	old, err := Parse([]byte(`{"includedPaths":[{"path":"/*","indexes":[{"kind":"range","dataType":"string","precision":-1}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Parse([]byte(`{"includedPaths":[{"path":"/*"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if old.Equal(plain) || !(IndexingSettings{Policy: old}).Equal(IndexingSettings{Policy: plain}) {
		t.Errorf("%+v, %+v", old, plain)
	}
	if x := old.Included[0].Indexes; len(x) != 1 || x[0].Kind != "Range" || x[0].DataType != "String" {
		t.Errorf("%+v", x)
	}
}
