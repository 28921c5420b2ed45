package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// patched applies operations to a document and returns the new text. operations are the elements of a
// patch's JSON array, without its brackets.
func patched(document, operations string) (string, error) {
	parsed, err := Parse([]byte(document), Limits{})
	if err != nil {
		return "", err
	}
	p, err := ParsePatch([]byte("[" + operations + "]"))
	if err != nil {
		return "", err
	}
	before := string(parsed.Body)
	out, err := p.Apply(parsed.Body)
	if string(parsed.Body) != before {
		return "", fmt.Errorf("the document itself was changed: %s", parsed.Body)
	}
	return string(out), err
}

func TestPatch(t *testing.T) {
	const document = `{"a":1,"o":{"x":[1,{"y":2}],"e":{},"":0},"l":[10,20,30],"z":[],"s":"t","a/b":1,"m~n":2,"q\"":3,"f":1.5}`
	for _, c := range []struct{ ops, want string }{
		{`{"op":"add","path":"/n","value":{"k": [1, 2]}}`, `{"a":1,…,"n":{"k":[1,2]}}`},
		{`{"op":"add","path":"/a","value":"new"}`, `{"a":"new",…}`},
		{`{"op":"add","path":"/o/e/k","value":1}`, `"e":{"k":1}`},
		{`{"op":"add","path":"/o/","value":7}`, `"":7`},
		{`{"op":"add","path":"/l/0","value":5}`, `"l":[5,10,20,30]`},
		{`{"op":"add","path":"/l/2","value":5}`, `"l":[10,20,5,30]`},
		{`{"op":"add","path":"/l/3","value":5}`, `"l":[10,20,30,5]`},
		{`{"op":"add","path":"/l/-","value":5}`, `"l":[10,20,30,5]`},
		{`{"op":"add","path":"/z/0","value":5}`, `"z":[5]`},
		{`{"op":"add","path":"/z/-","value":5},{"op":"add","path":"/z/-","value":6}`, `"z":[5,6]`},
		{`{"op":"add","path":"/o/x/1/y","value":5}`, `"x":[1,{"y":5}]`},
		{`{"op":"add","path":"/n"}`, `"n":null}`},
		{`{"op":"set","path":"/l/1","value":5}`, `"l":[10,5,30]`},
		{`{"op":"set","path":"/l/3","value":5}`, `"l":[10,20,30,5]`},
		{`{"op":"set","path":"/l/-","value":5}`, `"l":[10,20,30,5]`},
		{`{"op":"set","path":"/n","value":5}`, `"n":5}`},
		{`{"op":"set","path":"/a~1b","value":5}`, `"a/b":5`},
		{`{"op":"set","path":"/m~0n","value":5}`, `"m~n":5`},
		{`{"op":"set","path":"/q\"","value":5}`, `"q\"":5`},
		{`{"op":"set","path":"/n~01","value":5}`, `"n~1":5}`},
		{`{"op":"set","path":"/o","value":[]}`, `"a":1,"o":[],"l"`},
		{`{"op":"replace","path":"/l/2","value":5}`, `"l":[10,20,5]`},
		{`{"op":"replace","path":"/s","value":null}`, `"s":null`},
		{`{"op":"remove","path":"/a"}`, `{"o":{`},
		{`{"op":"remove","path":"/f"}`, `"q\"":3}`},
		{`{"op":"remove","path":"/l/0"}`, `"l":[20,30]`},
		{`{"op":"remove","path":"/l/2"}`, `"l":[10,20]`},
		{`{"op":"remove","path":"/l/1"}`, `"l":[10,30]`},
		{`{"op":"remove","path":"/o/x/1/y"}`, `"x":[1,{}]`},
		{`{"op":"incr","path":"/a","value":41}`, `{"a":42,`},
		{`{"op":"incr","path":"/a","value":-3}`, `{"a":-2,`},
		{`{"op":"incr","path":"/a","value":0.5}`, `{"a":1.5,`},
		{`{"op":"incr","path":"/f","value":0.5}`, `"f":2}`},
		{`{"op":"incr","path":"/n","value":7}`, `"n":7}`},
		{`{"op":"incr","path":"/l/1","value":1}`, `"l":[10,21,30]`},
		{`{"op":"set","path":"/a","value":9223372036854775806},{"op":"incr","path":"/a","value":1}`, `{"a":9223372036854775807,`},
		{`{"op":"set","path":"/a","value":9223372036854775807},{"op":"incr","path":"/a","value":1}`, `{"a":9223372036854776000,`},
		{`{"op":"set","path":"/a","value":-9223372036854775808},{"op":"incr","path":"/a","value":-1}`, `{"a":-9223372036854776000,`},
		{`{"op":"set","path":"/a","value":-9223372036854775808},{"op":"incr","path":"/a","value":0}`, `{"a":-9223372036854775808,`},
		{`{"op":"move","from":"/a","path":"/n"}`, `"f":1.5,"n":1}`},
		{`{"op":"move","from":"/l/0","path":"/l/2"}`, `"l":[20,30,10]`},
		{`{"op":"move","from":"/l/2","path":"/l/0"}`, `"l":[30,10,20]`},
		{`{"op":"move","from":"/l/0","path":"/l/-"}`, `"l":[20,30,10]`},
		{`{"op":"move","from":"/o/x","path":"/s"}`, `"s":[1,{"y":2}]`},
		{`{"op":"move","from":"/a","path":"/a"}`, `"a":1}`},
		{`{"op":"move","from":"/o/x/1","path":"/o"}`, `"o":{"y":2}`},
		{`{"op":"add","path":"/p","value":{}},{"op":"add","path":"/p/q","value":1},{"op":"remove","path":"/p/q"}`, `"p":{}}`},
	} {
		got, err := patched(document, c.ops)
		begin, end, both := strings.Cut(c.want, "…")
		if err != nil || !both && !strings.Contains(got, c.want) || both && !(strings.HasPrefix(got, begin) && strings.HasSuffix(got, end)) {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.ops, got, err, c.want)
		}
		if again, err := Parse([]byte(got), Limits{}); err != nil || string(again.Body) != got {
			t.Errorf("%s gives %s, which is not compact JSON: %v", c.ops, got, err)
		}
	}
}

func TestPatchFails(t *testing.T) {
	const document = `{"a":1,"l":[10,20,30],"o":{"x":{}},"s":"t","big":1.7e308}`
	for _, c := range []struct {
		ops    string
		number int
		text   string
	}{
		{`{"op":"add","path":"/no/x","value":1}`, 1, "For Operation(1): Add Operation can only create a child object of an existing node(array or object) and cannot create path recursively, no path found beyond: 'no'"},
		{`{"op":"set","path":"/o/no/x/y","value":1}`, 1, "For Operation(1): Given Operation can only create a child object of an existing node(array or object) and cannot create path recursively, no path found beyond: 'no'"},
		{`{"op":"add","path":"/a/x","value":1}`, 1, "no path found beyond: 'x'"},
		{`{"op":"incr","path":"/no/x","value":1}`, 1, "no path found beyond: 'no'"},
		{`{"op":"replace","path":"/no","value":1}`, 1, "For Operation(1): Node(/no) to be replaced is absent"},
		{`{"op":"remove","path":"/no"}`, 1, "For Operation(1): Node(/no) to be removed is absent"},
		{`{"op":"remove","path":"/no/more"}`, 1, "Node(/no/more) to be removed is absent"},
		{`{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}`, 2, "For Operation(2): Node(/a) to be removed is absent"},
		{`{"op":"add","path":"/l/4","value":1}`, 1, "For Operation(1): Index(4) to operate on is out of array bounds"},
		{`{"op":"set","path":"/l/4","value":1}`, 1, "Index(4)"},
		{`{"op":"replace","path":"/l/3","value":1}`, 1, "Index(3)"},
		{`{"op":"replace","path":"/l/-","value":1}`, 1, "Index(-)"},
		{`{"op":"remove","path":"/l/3"}`, 1, "Index(3)"},
		{`{"op":"incr","path":"/l/3","value":1}`, 1, "Index(3)"},
		{`{"op":"add","path":"/l/-1","value":1}`, 1, "Index(-1)"},
		{`{"op":"add","path":"/l/01","value":1}`, 1, "Index(01)"},
		{`{"op":"add","path":"/l/+1","value":1}`, 1, "Index(+1)"},
		{`{"op":"add","path":"/l/x","value":1}`, 1, "Index(x)"},
		{`{"op":"add","path":"/l/99999999999999999999","value":1}`, 0,
			"Token('99999999999999999999') has length"},
		{`{"op":"add","path":"/l/-/x","value":1}`, 1, "Index(-)"},
		{`{"op":"incr","path":"/s","value":1}`, 1, "For Operation(1): Node(/s) is not a number"},
		{`{"op":"incr","path":"/big","value":1.7e308}`, 1, "too large for a number"},
		{`{"op":"move","from":"/no","path":"/x"}`, 1, "Node(/no) to be removed is absent"},
		{`{"op":"move","from":"/l/7","path":"/x"}`, 1, "Index(7)"},
		{`{"op":"move","from":"/a","path":"/no/x"}`, 1, "no path found beyond: 'no'"},
		{`{"op":"move","from":"/l/0","path":"/l/3"}`, 1, "Index(3)"},

		{`{"op":"move","from":"/o","path":"/o/x"}`, 0, "moved into itself"},
		{``, 0, "there are no operations"},
		{strings.Repeat(`{"op":"incr","path":"/a","value":1},`, 10) + `{"op":"incr","path":"/a","value":1}`, 0, "The number of patch operations can't exceed 10"},
		{`1`, 0, "operation 1: it must be an object, not a number"},
		{`{"path":"/a","value":1}`, 0, "its op is missing"},
		{`{"op":"Add","path":"/a","value":1}`, 0, `its op is "Add"`},
		{`{"op":7,"path":"/a","value":1}`, 0, "its op is 7"},
		{`{"op":"add","value":1}`, 0, "its path must be a string, and is missing"},
		{`{"op":"add","path":5}`, 0, "its path must be a string, and is 5"},
		{`{"op":"add","path":"","value":1}`, 0, "does not begin with a slash"},
		{`{"op":"add","path":"a","value":1}`, 0, "does not begin with a slash"},
		{`{"op":"add","path":"/a~","value":1}`, 0, "neither 0 nor 1"},
		{`{"op":"add","path":"/a~2","value":1}`, 0, "neither 0 nor 1"},
		{`{"op":"incr","path":"/a"}`, 0, "incr needs a number"},
		{`{"op":"incr","path":"/a","value":"1"}`, 0, "incr needs a number"},
		{`{"op":"move","path":"/a"}`, 0, "its from must be a string"},
		{`{"op":"add","path":"/a","value":}`, 0, "check syntax of patch specification"},
		{`{"op":"add","path":"/a","value":1e999}`, 0, "too large"},
	} {
		got, err := patched(document, c.ops)
		var failed *PatchError
		if !errors.As(err, &failed) || failed.Number != c.number || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s\ngot  %s, %v\nwant operation %d: %s", c.ops, got, err, c.number, c.text)
		}
		if c.number == 0 && !strings.HasPrefix(err.Error(), "Invalid patch request: check syntax of patch specification") && !strings.Contains(err.Error(), "can't exceed") {
			t.Errorf("%s: %v", c.ops, err)
		}
	}
	for _, raw := range []string{"", "{}", "null", `"x"`, "[", strings.Repeat("[", 200)} {
		var failed *PatchError
		if _, err := ParsePatch([]byte(raw)); !errors.As(err, &failed) {
			t.Errorf("ParsePatch(%q): %v", raw, err)
		}
	}
}

func TestPatchTouches(t *testing.T) {
	p, err := ParsePatch([]byte(`[{"op":"set","path":"/other","value":1},{"op":"move","from":"/a/b","path":"/c/d"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/other": 1, "/other/x": 1, "/a": 2, "/a/b": 2, "/a/b/c": 2, "/a/c": 0, "/c": 2, "/c/d": 2, "/c/e": 0, "/d": 0} {
		parsed, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Touches(parsed); got != want {
			t.Errorf("%s is touched by %d, want %d", path, got, want)
		}
	}
}

// patchTwin applies an operation to a document that encoding/json has decoded. It is a second
// implementation of patches, with which tests compare Patch.Apply. It returns false if the operation
// cannot be applied.
func patchTwin(root any, op map[string]any) (any, bool) {
	path := split(op["path"].(string))
	switch op["op"] {
	case "remove":
		return change(root, path, func(any, bool) (any, editKind) { return nil, drop })
	case "move":
		from := split(op["from"].(string))
		var moved any
		root, ok := change(root, from, func(old any, _ bool) (any, editKind) {
			moved = old
			return nil,
				drop
		})
		if !ok {
			return nil, false
		}
		return change(root, path, func(any, bool) (any, editKind) { return moved, insert })
	case "add":
		return change(root, path, func(any, bool) (any, editKind) { return op["value"], insert })
	case "set":
		return change(root, path, func(any, bool) (any, editKind) { return op["value"], put })
	case "replace":
		return change(root, path, func(_ any, there bool) (any, editKind) {
			if !there {
				return nil, refuse
			}
			return op["value"], put
		})
	}
	return change(root, path, func(old any, there bool) (any, editKind) {
		by, _ := op["value"].(json.Number).Int64()
		if !there {
			return op["value"], putMember
		}
		n, ok := old.(json.Number)
		if !ok {
			return nil, refuse
		}
		was, err := n.Int64()
		if err != nil {
			return nil, refuse
		}
		return json.Number(strconv.FormatInt(was+by, 10)), put
	})
}

type editKind int

const (
	refuse    editKind = iota
	drop               // what is there
	put                // in place of what is there, or new
	putMember          // the same, in an object only
	insert             // in an array before what is there
)

func split(path string) []string {
	names := strings.Split(path[1:], "/")
	for i, n := range names {
		names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(n)
	}
	return names
}

// change edits the value at a path inside v and returns the changed v. fn gets the value at the path, and
// whether it exists, and returns the new value and the kind of edit. change returns false if the edit is
// not possible.
func change(v any, path []string, fn func(old any, there bool) (any, editKind)) (any, bool) {
	name := path[0]
	switch v := v.(type) {
	case map[string]any:
		old, there := v[name]
		if len(path) > 1 {
			next, ok := change(old, path[1:], fn)
			v[name] = next
			return v, ok
		}
		next, what := fn(old, there)
		if what == refuse || what == drop && !there {
			return nil, false
		}
		if v[name] = next; what == drop {
			delete(v, name)
		}
		return v, true
	case []any:
		i, err := strconv.Atoi(name)
		if name == "-" {
			i, err = len(v), nil
		}
		there := i < len(v)
		if err != nil || i < 0 || i > len(v) || strconv.Itoa(i) != name && name != "-" || len(path) > 1 && !there {
			return nil, false
		}
		if len(path) > 1 {
			next, ok := change(v[i], path[1:], fn)
			v[i] = next
			return v, ok
		}
		var old any
		if there {
			old = v[i]
		}
		next, what := fn(old, there)
		switch {
		case what == refuse, !there && (what == drop || what == putMember):
			return nil, false
		case what == drop:
			return slices.Delete(v, i, i+1), true
		case what == insert || !there:
			return slices.Insert(v, i, next), true
		}
		v[i] = next
		return v, true
	}
	return nil, false
}

func decoded(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestPatchAgainstReference applies random patches to random documents and compares the results of
// Patch.Apply with those of patchTwin, a second and simpler implementation of patches for tests.
func TestPatchAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "0", "1", "2", "-", "", "~0", "~1", "é", `\"`, `\\`, `\u0061`}
	value := func(depth int) string { return randomJSON(r, depth, names) }
	pointer := func() string {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			b.WriteString("/" + names[r.IntN(len(names))])
		}
		return b.String()
	}
	applied := 0
	for range 20_000 {
		document := value(3)
		if document[0] != '{' {
			continue
		}
		var ops []string
		for range 1 + r.IntN(3) {
			switch kind := patchNames[r.IntN(len(patchNames))]; kind {
			case "move":
				ops = append(ops, fmt.Sprintf(`{"op":"move","from":"%s","path":"%s"}`, pointer(), pointer()))
			case "incr":
				ops = append(ops, fmt.Sprintf(`{"op":"incr","path":"%s","value":%d}`, pointer(), r.IntN(9)-4))
			default:
				ops = append(ops, fmt.Sprintf(`{"op":"%s","path":"%s","value":%s}`, kind, pointer(), value(2)))
			}
		}
		list := strings.Join(ops, ",")
		got, err := patched(document, list)
		var failed *PatchError
		if errors.As(err, &failed) && failed.Number == 0 {
			continue // a value that would be moved into itself
		}
		want, ok := decoded(t, document), true
		for _, op := range decoded(t, "["+list+"]").([]any) {
			if want, ok = patchTwin(want, op.(map[string]any)); !ok {
				break
			}
		}
		if ok != (err == nil) || ok && !reflect.DeepEqual(decoded(t, got), want) {
			t.Fatalf("document %s\npatch    %s\ngot      %s, %v\nwant     %v %v", document, list, got, err, want, ok)
		}
		if ok {
			applied++
			if again, err := Parse([]byte(got), Limits{}); err != nil || string(again.Body) != got {
				t.Fatalf("document %s\npatch    %s\ngives    %s, which is not compact JSON: %v", document, list, got, err)
			}
		}
	}
	if applied < 1000 {
		t.Errorf("only %d patches fitted their documents", applied)
	}
}

// randomJSON draws a value of integers, strings, arrays and objects.
func randomJSON(r *rand.Rand, depth int, names []string) string {
	var parts []string
	switch n := r.IntN(3); {
	case depth == 0 || depth < 3 && n == 0:
		return []string{"1", "-7", `"t"`, "null", "true", `"[,]{}\""`}[r.IntN(6)]
	case depth < 3 && n == 1:
		for range r.IntN(4) {
			parts = append(parts, randomJSON(r, depth-1, names))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for _, i := range r.Perm(len(names) - 1)[:r.IntN(5)] { // the last name is another spelling of the first
		parts = append(parts, `"`+strings.NewReplacer("~0", "~", "~1", "/").Replace(names[i])+`":`+randomJSON(r, depth-1, names))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// FuzzPatch looks for patches that panic, whose error is no *PatchError, or whose result is not valid
// JSON.
func FuzzPatch(f *testing.F) {
	for _, s := range []string{
		`[{"op":"add","path":"/a/0","value":{"x":[1]}},{"op":"move","from":"/a/0","path":"/b"}]`,
		`[{"op":"incr","path":"/n","value":1.5e300},{"op":"remove","path":"/o/~0"}]`,
		`[{"op":"set","path":"/l/-","value":"\ud800"},{"op":"replace","path":"/\u0061","value":0}]`,
	} {
		f.Add([]byte(`{"a":[1,2],"b":{"c":null},"n":1,"o":{"~":1},"l":[]}`), []byte(s))
	}
	f.Fuzz(func(t *testing.T, document, patch []byte) {
		p, err := ParsePatch(patch)
		var failed *PatchError
		if err != nil {
			if !errors.As(err, &failed) || failed.Number != 0 {
				t.Fatalf("ParsePatch(%q): %v", patch, err)
			}
			return
		}
		d, err := Parse(document, Limits{})
		if err != nil {
			return
		}
		out, err := p.Apply(d.Body)
		if err != nil {
			if !errors.As(err, &failed) || failed.Number < 1 || failed.Number > p.Len() {
				t.Fatalf("%q on %q: %v", patch, document, err)
			}
			return
		}
		if err := Valid(out, Limits{MaxBytes: math.MaxInt32, MaxDepth: 1000}); err != nil {
			t.Fatalf("%q on %q gives %q: %v", patch, document, out, err)
		}
	})
}
