package rule

import (
	"encoding/json"
	"testing"
)

// TestStoredNumberTypes checks that a stored filter keeps the number type and the text with which a client
// gave each value, and that these have no effect on comparisons.
func TestStoredNumberTypes(t *testing.T) {
	given := []Parameter{{"a", Int(5).WithType(Int64, "5")}, {"b", Number(1.5).WithType(Float32, "1.50")},
		{"c", Time(1000).WithType(Untyped, "1970-01-01T00:00:01.0000009Z")}, {"d",
			Duration(1).WithType(Untyped,
				"PT0.0000001S")},
		{"e", String("x").WithType(Int8, "y")}}
	f, err := NewCorrelationFilter(CorrelationFilter{Properties: given})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var read Filter
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	for i, p := range read.Correlation().Properties {
		if p != given[i] {
			t.Errorf("%+v was read as %+v", given[i], p)
		}
	}
	for i, plain := range []Value{Int(5), Number(1.5), Time(1000), Duration(1), String("x")} {
		if v := given[i].Value; v.Plain() != plain || equal(v, plain) != yes {
			t.Errorf("%+v is not %+v", v, plain)
		}
	}
	if v := given[4].Value; v.Type() != Untyped || v.Written() != "" || v.Text() != "x" {
		t.Errorf("a text is %+v", v)
	}
	if v := given[2].Value; v.Text() != "" || v.Written() != "1970-01-01T00:00:01.0000009Z" {
		t.Errorf("a moment is %+v", v)
	}
}
