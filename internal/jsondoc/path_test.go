package jsondoc

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePath(t *testing.T) {
	for _, c := range []struct {
		path     string
		segments []string
		canon    string // "" where it is the same
	}{
		{`/a`, []string{"a"}, ""},
		{`/a/b/c`, []string{"a", "b", "c"}, ""},
		{`/_ts`, []string{"_ts"}, ""},
		{`/größe`, []string{"größe"}, ""},
		{`/0/1`, []string{"0", "1"}, ""},
		{`/"a-b"/c`, []string{"a-b", "c"}, ""},
		{`/a-b`, []string{"a-b"}, `/"a-b"`},
		{`/a b/c.d`, []string{"a b", "c.d"}, `/"a b"/"c.d"`},
		{`/"a"`, []string{"a"}, `/a`},
		{`/'a*b'`, []string{"a*b"}, `/"a*b"`},
		{`/'le"v'/b`, []string{`le"v`, "b"}, `/"le\"v"/b`},
		{`/'it\'s'`, []string{"it's"}, `/"it's"`},
		{`/it's`, []string{"it's"}, `/"it's"`},
		{`/""`, []string{""}, ""},
		{`/""/""/a`, []string{"", "", "a"}, ""},
		{`/"a/b"/c`, []string{"a/b", "c"}, ""},
		{`/"*"/"?"/"[]"`, []string{"*", "?", "[]"}, ""},
		{`/"say \"hi\""`, []string{`say "hi"`}, ""},
		{`/"back\\slash"`, []string{`back\slash`}, ""},
		{`/back\slash`, []string{`back\slash`}, `/"back\\slash"`},
		{`/@this/#`, []string{"@this", "#"}, `/"@this"/"#"`},
	} {
		p, err := ParsePath(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if diff := cmp.Diff(c.segments, p.Segments()); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
		want := c.canon
		if want == "" {
			want = c.path
		}
		if got := p.String(); got != want {
			t.Errorf("%s is written %s, want %s", c.path, got, want)
		}
		if made := PathOf(c.segments...); made.String() != want {
			t.Errorf("PathOf(%q) is written %s", c.segments, made)
		}
	}
	if p := (Path{}); p.String() != "" || len(p.Segments()) != 0 {
		t.Errorf("the zero Path is %s", p)
	}
}

func TestPathErrors(t *testing.T) {
	for _, c := range []struct {
		path   string
		offset int
		reason string
	}{
		{"", 0, "it must begin with a slash"},
		{"a/b", 0, "it must begin with a slash"},
		{"/", 1, "a name is missing"},
		{"//a", 1, "a name is missing"},
		{"/a/", 3, "a name is missing"},
		{"/a//b", 3, "a name is missing"},
		{"/a/*", 3, "a name with this character must be in double quotes"},
		{"/a/?", 3, "a name with this character must be in double quotes"},
		{"/tags/[]/x", 6, "a name with this character must be in double quotes"},
		{"/a[0]", 2, "a name with this character must be in double quotes"},
		{`/a"b"`, 2, "a name with this character must be in double quotes"},
		{`/"a`, 1, "the quotes are not closed"},
		{`/'a"`, 1, "the quotes are not closed"},
		{`/'a\"'`, 3, `only \' and \\ can be escaped`},
		{`/"a"b`, 4, "a slash must follow the name in quotes"},
		{`/"a"/`, 5, "a name is missing"},
		{`/"a\n"`, 3, `only \" and \\ can be escaped`},
		{`/"a\`, 3, `only \" and \\ can be escaped`},
		{"/a\xff", 0, "it is not UTF-8"},
	} {
		_, err := ParsePath(c.path)
		var got *PathError
		if !errors.As(err, &got) || *got != (PathError{c.path, c.offset, c.reason}) {
			t.Errorf("%s: got %v, want offset %d, %s", c.path, err, c.offset, c.reason)
		}
	}
}

func TestPathIsImmutable(t *testing.T) {
	names := []string{"a", "b"}
	p := PathOf(names...)
	names[0] = "c"
	if p.String() != "/a/b" {
		t.Errorf("the path became %s", p)
	}
}

func TestGet(t *testing.T) {
	const text = `{"a":1,"b":{"a":2,"b":{"a":"x\u0041"},"":{"":3}},"arr":[{"a":4},5],"0":{"1":6},"":7,
		"a.b":8,"*":9,"?":10,"#":11,"@this":12,"a\\b":13,"a\"b":14,"\u0061\u0062":15,"\ud83d\ude00":16,"größe":17,
		"a|b":18,"!":19,"[]":20,"{a}":21,"a/b":22,"\u0000":23,"\ud800A":24,"s":"a","n":null,"a b":25,"..":26,"\\u0061":27,
		"\n":28,"\\n":29,"x1":{"y_2":30},"\u0041\u004200":31}`
	for path, want := range map[string]string{
		`/a`:               "1",
		`/b/a`:             "2",
		`/b/b/a`:           `"x\u0041"`,
		`/b/""/""`:         "3",
		`/b/""`:            `{"":3}`,
		`/arr`:             `[{"a":4},5]`,
		`/arr/0`:           "",
		`/arr/a`:           "",
		`/arr/0/a`:         "",
		`/arr/"#"`:         "",
		`/arr/"#"/a`:       "",
		`/0/1`:             "6",
		`/""`:              "7",
		`/"a.b"`:           "8",
		`/"*"`:             "9",
		`/"?"`:             "10",
		`/"#"`:             "11",
		`/"@this"`:         "12",
		`/"a\\b"`:          "13",
		`/"a\"b"`:          "14",
		`/ab`:              "15",
		`/"😀"`:             "16",
		`/größe`:           "17",
		`/"a|b"`:           "18",
		`/"!"`:             "19",
		`/"[]"`:            "20",
		`/"{a}"`:           "21",
		`/"a/b"`:           "22",
		"/\x00":            "23",
		"/\uFFFDA":         "24",
		"/\uFFFD":          "",
		`/s`:               `"a"`,
		`/s/a`:             "",
		`/n`:               "null",
		`/n/a`:             "",
		`/a/b`:             "",
		`/"a b"`:           "25",
		`/".."`:            "26",
		`/"\\u0061"`:       "27",
		"/\n":              "28",
		`/"\\n"`:           "29",
		`/x1/y_2`:          "30",
		`/AB00`:            "31",
		`/missing`:         "",
		`/b/missing/a`:     "",
		`/""/""/a`:         "",
		`/A`:               "",
		`/x`:               "",
		`/x11`:             "",
		`/"a*"`:            "",
		`/"@pretty"`:       "",
		`/"@this"/"@this"`: "",
	} {
		p := mustPath(t, path)
		got := Get([]byte(text), p)
		if string(got.Raw()) != want || (got.Kind() == Undefined) != (want == "") {
			t.Errorf("%q: got %s, want %s", path, got.Raw(), want)
		}
		if again := Of(mustParse(t, text).Body).Get(p); string(again.Raw()) != want {
			t.Errorf("%q of compact text: got %s, want %s", path, again.Raw(), want)
		}
	}
	if got := Get([]byte(` {"a":1} `), Path{}); string(got.Raw()) != `{"a":1}` {
		t.Errorf("the empty path leads to %s", got.Raw())
	}
	for _, raw := range []string{"", "null", "[]", `["a"]`, `[{"a":1}]`, `"a"`, "1"} {
		for _, path := range []string{"/a", "/0", `/"#"`, `/"@this"`} {
			if got := Get([]byte(raw), mustPath(t, path)); got.Kind() != Undefined {
				t.Errorf("%s of %s is %s", path, raw, got.Raw())
			}
		}
	}
	if got := StringValue("a").Get(PathOf("a")); got.Kind() != Undefined {
		t.Errorf("a string has a member %s", got.Raw())
	}
}

// TestPathReaderSelection checks which paths are read by gjson and which by walkPath, so that TestGet covers
// both.
func TestPathReaderSelection(t *testing.T) {
	plain := []string{"/a", "/b/a", "/x1/y_2", "/größe", "/_ts", "/😀"}
	for _, path := range slices.Concat(plain, []string{`/""`, "/0", "/a/0", "/a-b", `/"a.b"`,
		"/a*"[:2] + `/"*"`, "/@this", "/\uFFFDA", "/a b"}) {
		if got := mustPath(t, path).plain != ""; got != slices.Contains(plain, path) {
			t.Errorf("%s: plain is %v", path, got)
		}
	}
}
