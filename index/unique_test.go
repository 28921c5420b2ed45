package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
)

func TestUniqueKeysJSON(t *testing.T) {
	paths := func(n int, prefix string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = `"` + prefix + strconv.Itoa(i) + `"`
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	many := func(n int) string {
		return `{"uniqueKeys":[` + strings.TrimSuffix(strings.Repeat(`{"paths":["/a"]},`, n), ",") + `]}`
	}
	for _, c := range []struct{ in, out, place string }{
		{`{"uniqueKeys":[{"paths":["/name","/address/zip"]},{"paths":["/\"a-b\""]}]}`,
			`{"uniqueKeys":[{"paths":["/name","/address/zip"]},{"paths":["/\"a-b\""]}]}`, ""},
		{`{"uniqueKeys":[]}`, `{"uniqueKeys":[]}`, ""},
		{`{}`, `{"uniqueKeys":[]}`, ""},
		{many(10), many(10), ""},
		{`{"uniqueKeys":[{"paths":` + paths(16, "/p") + `}]}`, `{"uniqueKeys":[{"paths":` + paths(16, "/p") +
			`}]}`, ""},

		{many(11), "", "uniqueKeys"},
		{`{"uniqueKeys":[{"paths":` + paths(17, "/p") + `}]}`, "", "uniqueKeys[0].paths"},
		{`{"uniqueKeys":[{"paths":["/a"]},{"paths":[]}]}`, "", "uniqueKeys[1].paths"},
		{`{"uniqueKeys":[{}]}`, "", "uniqueKeys[0].paths"},
		{`{"uniqueKeys":[{"paths":["/a","/\"a\""]}]}`, "", "uniqueKeys[0].paths"},
		{`{"uniqueKeys":[{"paths":["a"]}]}`, "", "uniqueKeys[0].paths"},
		{`{"uniqueKeys":[{"paths":[""]}]}`, "", "uniqueKeys[0].paths"},
		{`{"uniqueKeys":[{"paths":["/a/[]/b"]}]}`, "", "uniqueKeys[0].paths"},
		{`{"uniqueKeys":[{"paths":["/a/*"]}]}`, "", "uniqueKeys[0].paths"},
		{`{"uniqueKeys":[{"paths":"/a"}]}`, "", "uniqueKeys.paths"},
		{`{"uniqueKeys":{}}`, "", "uniqueKeys"},
		{`[]`, "", ""},
	} {
		u, err := ParseUniqueKeys([]byte(c.in))
		if c.out == "" {
			var own *PolicyError
			if !errors.As(err, &own) || own.Path != c.place {
				t.Errorf("%s: %v, want a PolicyError at %q", c.in, err, c.place)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		out, err := json.Marshal(u)
		if err != nil || string(out) != c.out {
			t.Errorf("%s: reads back as %s, %v", c.in, out, err)
		}
	}
}

func TestUniqueKeysEqual(t *testing.T) {
	parse := func(s string) UniqueKeyConstraints {
		u, err := ParseUniqueKeys([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	none, empty := parse(`null`), parse(`{"uniqueKeys":[]}`)
	a := parse(`{"uniqueKeys":[{"paths":["/a","/b"]}]}`)
	if !none.IsZero() || empty.IsZero() || !none.Equal(empty) || none.Equal(a) {
		t.Error("none, an empty list and a constraint are not told apart")
	}
	if !a.Equal(parse(`{"uniqueKeys":[{"paths":["/\"a\"","/b"]}]}`)) {
		t.Error("another spelling of the same path makes a difference")
	}
	if a.Equal(parse(`{"uniqueKeys":[{"paths":["/b","/a"]}]}`)) ||
		a.Equal(parse(`{"uniqueKeys":[{"paths":["/a"]},{"paths":["/b"]}]}`)) {
		t.Error("other constraints are equal")
	}
}

func TestUniqueValues(t *testing.T) {
	u, err := NewUniqueKeys([]string{"/a", "/b/c"}, []string{"/long"})
	if err != nil {
		t.Fatal(err)
	}
	if u.Len() != 2 {
		t.Fatalf("%d constraints", u.Len())
	}
	long := `"` + strings.Repeat("x", 2000)
	// Documents of one group hold the same values for the constraint, those of different groups do not.
	for constraint, groups := range [][][]string{
		{
			{`{}`, `{"a":null}`, `{"b":{"c":null}}`, `{"b":1}`, `{"b":[{"c":1}]}`},
			{`{"a":1}`, `{"a":1.0,"b":{}}`, `{"a":1e0,"id":"x"}`},
			{`{"a":"1"}`, `{"a":"\u0031"}`},
			{`{"a":true}`},
			{`{"b":{"c":1}}`},
			{`{"a":"x","b":{"c":"y"}}`},
			{`{"a":"xy"}`},
			{`{"a":"X","b":{"c":"y"}}`},
			{`{"a":""}`},
			{`{"a":[]}`},
			{`{"a":[1,2]}`, `{"a":[1.0, 2]}`},
			{`{"a":[2,1]}`},
			{`{"a":{"x":1,"y":2}}`, `{"a":{"y":2,"x":1}}`},
		},
		{
			{`{"long":` + long + `a"}`, `{"long":` + long + `\u0061"}`},
			{`{"long":` + long + `b"}`},
			{`{"long":"x"}`},
		},
	} {
		seen := map[string]int{}
		for g, group := range groups {
			for _, body := range group {
				values := u.Values([]byte("key"), constraint, []byte(body))
				if !bytes.HasPrefix(values, []byte("key")) || len(values) > 3+maxUniqueValues {
					t.Errorf("%.60s: %d bytes, %.10q...", body, len(values), values)
				}
				if was, ok := seen[string(values)]; ok && was != g {
					t.Errorf("%.60s has the values of group %d", body, was)
				} else if !ok && body != group[0] {
					t.Errorf("%.60s has other values than %.60s", body, group[0])
				}
				seen[string(values)] = g
			}
		}
	}
}
