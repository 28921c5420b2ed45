package script

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/ttl"
)

// TestMain runs the tests and checks that no goroutine is left, except the clock of the regular expression
// library, which ends by itself. The tests collect garbage less often, because they create much and keep
// little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}

// never is a TimeAndRandomSource.After whose timers never fire, so that the limits of a script are not
// checked.
func never(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

func still() TimeAndRandomSource {
	return TimeAndRandomSource{
		Now:     func() time.Time { return time.Unix(1700000000, 0).UTC() },
		Random:  rand.New(rand.NewPCG(1, 2)).Float64,
		Elapsed: func() time.Duration { return 0 },
		After:   never,
	}
}

// evaluate calls the JavaScript function in source once, in a new Runtime, with args as JSON. It returns
// the result as JSON.
func evaluate(t *testing.T, env TimeAndRandomSource, limits Limits, source string,
	args ...string) (string, error) {
	t.Helper()
	var p ScriptCache
	r, err := p.Open(context.Background(), env, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := r.Function("test", source)
	if err != nil {
		return "", err
	}
	list := make([]jsondoc.Value, len(args))
	for i, a := range args {
		list[i] = jsondoc.Of([]byte(a))
	}
	v, err := f.Call(list)
	return string(v.Raw()), err
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, args, want string }{
		{"function tax(income) { if (income === undefined) throw 'no income'; return income < 1000 ? income * 0.1 : income * 0.4; }", "2000", "800"},
		{"function (a) { return a; }", `{"b":1,"a":[1,2.5,"x",null,true,{"__proto__":7}]}`,
			`{"b":1,"a":[1,2.5,"x",null,true,{"__proto__":7}]}`},
		{"a => a + 1;", "41", "42"},
		{"const k = 2; a => a * k", "21", "42"},
		{"function main(a) { return half(a); }\nfunction half(a) { return a / 2; }", "84", "42"},
		{"function (a) { return a; };", "1", "1"},
		{"function (a) { return a; } ; ; // the end", "1", "1"},
		{"\n  function (a) { return a; }\n;\n", "1", "1"},
		{"async => async;", "1", "1"},
		{"// a comment\nfunction (a) { return a } // another", "1", "1"},
		{"function (a, b) { return b; }", "1", ""},
		{"function () { return undefined; }", "", ""},
		{"function () { return function () {}; }", "", ""},
		{"function () { return Symbol('x'); }", "", ""},
		{"function () { return [undefined, NaN, 1/0, -0, 9007199254740993, 1e300, 1e-7]; }", "",
			"[null,null,null,0,9007199254740992,1e+300,1e-7]"},
		{"function () { return { at: new Date(0), f: function () {}, u: undefined, s: new String('x'), n: new Number(7) }; }", "",
			`{"at":"1970-01-01T00:00:00.000Z","s":"x","n":7}`},
		{"function () { return { toJSON: function (k) { return 'me' + k; } }; }", "", `"me"`},
		{"function (s) { return s.length; }", `"a\u00e9\ud83d\ude00"`, "4"},
		{"function (s) { return s; }", `"\ud800"`, `"` + "\uFFFD" + `"`},
		{"function (x) { return JSON.stringify(x, null, 2); }", `{"a":[1,{}],"b":[]}`,
			`"{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"`},
		{"function (x) { return JSON.stringify(x, ['b']) + JSON.stringify(x, (k, v) => k === 'a' ? undefined : v); }", `{"a":1,"b":2}`, `"{\"b\":2}{\"b\":2}"`},
		{"function () { return JSON.parse('{\"a\":[1,2],\"a\":3}', (k, v) => typeof v === 'number' ? v + 1 : v); }", "", `{"a":4}`},
		{"function () { try { JSON.parse('{') } catch (e) { return e instanceof SyntaxError; } }", "",
			"true"},
		{"function () { var a = []; a[0] = a; try { JSON.stringify(a) } catch (e) { return e instanceof TypeError; } }", "", "true"},
		{"function () { return 'a-b'.replace(/-/g, '+') + [3,1,2].sort().join('') + [1,[2,[3]]].flat().length + [..'ab'.split('')].length; }", "", ""},
		{"function () { return 'a-b'.replace(/-/g, '+') + [3,1,2].sort().join('') + [1,[2,[3]]].flat().length + [...'ab'].length + Math.max.apply(null, [1, 9]); }", "", `"a+b123329"`},
		{"function (p) { return /^(?=.*[A-Z])(?=.*\\d).{4,}$/.test(p); }", `"Pass1"`, "true"},
		{"function () { return [new Date().toISOString(), Date.now(), new Date(2020, 1, 29, 12).getTime(), new Date('2020-02-29T12:00:00').getHours(), new Date(0).getTimezoneOffset()]; }", "",
			`["2023-11-14T22:13:20.000Z",1700000000000,1582977600000,12,0]`},
		{"function () { class E extends Error { constructor() { super('m'); this.name = 'E'; } } var e = new E(); return [e instanceof E, e instanceof Error, '' + e, new Error(404, 'x').number, new Error(404, 'x').message, Error('y').message]; }", "",
			`[true,true,"E: m",404,"x","y"]`},
		{"function () { return typeof require + typeof process + typeof setTimeout + typeof getContext + typeof __ + typeof console; }", "", `"undefinedundefinedundefinedundefinedundefinedundefined"`},
		{"async function () { return 1; }", "", "{}"},
		{"function (s) { var out = [], m, re = /(\\b\\w)(\\w*)/g; while (m = re.exec(s)) out.push(m.index, m[1], m[2], re.lastIndex); return out; }", `"ab c-de"`, `[0,"a","b",2,3,"c","",4,5,"d","e",7]`},
		{"function (s) { return [s.replace(/(\\w+)@(\\w+)/g, '$2 at $1'), s.match(/\\w/g).length, s.search(/@/), s.replace(/^./gm, x => x.toUpperCase()), s.replace(/$/gm, ';')]; }", `"ä@b\nc@d é"`,
			`["ä@b\nd at c é",3,1,"Ä@b\nC@d é","ä@b;\nc@d é;"]`},
		{"function (s) { return [s.split(/,\\s*/), s.split(/(,)/, 3), s.split(/(?:)/), 'x'.split(/x/), ''.split(/x/), ''.split(/(?:)/), s.split(/$/), s.split(/^/)]; }", `"a, b,c"`,
			`[["a","b","c"],["a",","," b"],["a",","," ","b",",","c"],["",""],[""],[],["a, b,c"],["a, b,c"]]`},
		{"function () { var y = /a/y, r = [y.test('aab'), y.lastIndex, y.test('aab'), y.test('aab'), y.lastIndex]; return r.concat('aaa'.replace(/^a/g, 'b'), [...'a1b2'.matchAll(/[a-z](?<n>\\d)/g)].map(m => m.groups.n + m.index), '😀x😀'.replace(/./gu, '-')); }", "",
			`[true,1,true,false,0,"baa","10","22","---"]`},
	} {
		var args []string
		if c.args != "" {
			args = []string{c.args}
		}
		got, err := evaluate(t, still(), Limits{}, c.source, args...)
		var failed *Error
		if c.want == "" && errors.As(err, &failed) {
			continue // not JavaScript, on purpose
		}
		if err != nil || got != c.want {
			t.Errorf("%s (%s): %s, %v; want %s", c.source, c.args, got, err, c.want)
		}
	}
}

func TestScriptErrors(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]Error{
		"function f() {\n  throw new Error('no');\n}": {Exception: "Error: no",
			Stack: "   at f (test.js:2:9)"},
		"function () { throw 'text'; }": {Exception: "text",
			Stack: "   at Anonymous function (test.js:1:16)"},
		"function () { throw { number: 7, toString: () => 'mine' }; }": {Exception: "mine", Number: 7,
			Stack: "   at Anonymous function (test.js:1:16)"},
		"function () { throw new Error(404, 'gone'); }": {Exception: "Error: gone",
			Number: 404, Stack: "   at Anonymous function (test.js:1:22)"},
		"function () { throw { toString: () => { throw 1; } }; }": {
			Exception: "an object that cannot be printed", Stack: "   at Anonymous function (test.js:1:16)"},
		"function () { return eval('1'); }": {
			Exception: "TypeError: eval is not allowed in server side scripting.", Stack: "   at Anonymous function (test.js:1:27)"},
		"function () { return (function () {}).constructor('return 1')(); }": {
			Exception: "TypeError: Making functions of text is not allowed in server side scripting.",
			Stack:     "   at Anonymous function (test.js:1:51)"},
		"function () { throw null; }": {Exception: "null", Stack: "   at Anonymous function (test.js:1:16)"},
	} {
		_, err := evaluate(t, still(), Limits{}, source)
		var got *Error
		if !errors.As(err, &got) || *got != want {
			t.Errorf("%s:\n%#v\nwant\n%#v", source, err, want)
		}
	}
	for _, source := range []string{"function (", "1 + 1", "", "var x;", "function () { return 1n; }",
		"`${1n}`", "function () {} }", "}{", "\x00", "\xff"} {
		_, err := evaluate(t, still(), Limits{}, source)
		var got *Error
		if !errors.As(err, &got) || got.Number != CompileNumber {
			t.Errorf("%q: %v", source, err)
		}
	}
}

// TestLimitsStopScripts checks that scripts that run forever or need too much memory are stopped, each with
// the right error. For some of them the clock advances at each check of the limits.
func TestLimitsStopScripts(t *testing.T) {
	var timeout *TimeoutError
	var large *SizeOrMemoryLimitError
	var failed *Error
	for source, want := range map[string]any{
		"function () { for (;;) ; }": &timeout,
		"function () { for (;;) { try { for (;;) ; } catch (e) {} finally { continue; } } }":                                                      &timeout,
		"function () { while (true) [1, 2, 3].map(x => x + 1); }":                                                                                 &timeout,
		"function () { function* g() { for (;;) yield 1; } return [...g()]; }":                                                                    &timeout,
		"function f() { return f() + 1; }":                                                                                                        &failed,
		"function () { var o = { get a() { return this.a; } }; return o.a; }":                                                                     &failed,
		"function () { var o = { toString() { return '' + this; } }; return '' + o; }":                                                            &failed,
		"function () { var a = []; a[0] = [[a]]; for (var i = 0; i < 1e5; i++) a = [a]; return String(a).length; }":                               &failed,
		"function () { var a = {}; for (var i = 0; i < 1e5; i++) a = { a: a }; return a; }":                                                       &failed,
		"function () { var a = {}; for (var i = 0; i < 1e5; i++) a = { a: a }; return JSON.stringify(a); }":                                       &failed,
		"function () { return JSON.parse('['.repeat(1e6)); }":                                                                                     &failed,
		"function () { var a = [1]; for (var i = 0; i < 60; i++) a = [a, a]; return a; }":                                                         &large,
		"function () { var a = [1]; for (var i = 0; i < 60; i++) a = [a, a]; return a.flat(Infinity); }":                                          &timeout,
		"function () { var a = [1]; for (var i = 0; i < 60; i++) a = [a, a]; return '' + a; }":                                                    &timeout,
		"function () { return new Array(4e9).fill(0).length; }":                                                                                   &failed,
		"function () { return new Array(1e9).join('x').length; }":                                                                                 &failed,
		"function () { return Array.from({ length: 1e9 }).length; }":                                                                              &failed,
		"function () { return [...new Array(4e9)].length; }":                                                                                      &failed,
		"function () { return Array.prototype.indexOf.call({ length: 9e15 }, 1); }":                                                               &failed,
		"function () { return Array.prototype.forEach.call({ get length() { return 1; } }, x => x); }":                                            &failed,
		"function () { return Math.max.apply(null, { length: 1e9 }); }":                                                                           &failed,
		"function () { return 'x'.repeat(1e9).length; }":                                                                                          &failed,
		"function () { return 'x'.padStart(1e9).length; }":                                                                                        &failed,
		"function () { return 'x'.repeat(1e6).replace(/x/g, 'y'.repeat(1e6)).length; }":                                                           &failed,
		"function () { return 'x'.repeat(1e6).replace(/x/g, \"$'\").length; }":                                                                    &failed,
		"function () { return 'x'.repeat(1e6).replaceAll('x', 'y'.repeat(1e6)).length; }":                                                         &failed,
		"function () { return /(a+)+$/g.test('é' + 'a'.repeat(60) + 'b') || 'a'.repeat(60).concat('b', 'é').replace(/(a*)*c/g, '') && nothing; }": &failed,
		"function () { return /(?=a)(a+)+$/.test('a'.repeat(50) + 'b'); }":                                                                        &failed,
		"function () { return /(a*)*\\1$/.test('a'.repeat(50) + 'b'); }":                                                                          &failed,
		"function () { return 'a'.repeat(1e5).match('(?=a).*.*.*b'); }":                                                                           &failed,
		"function () { return new Uint8Array(1e10).length; }":                                                                                     &failed,
		"function () { return BigInt(10) ** BigInt(1e9); }":                                                                                       &failed,
		"function () { return 'x'.repeat(5e6); }":                                                                                                 &large,
	} {
		env := still()
		env.After = ttl.SystemClock{}.After
		env.Elapsed = passed()
		limits := Limits{Time: 2 * time.Minute} // what is stopped otherwise takes seconds on a busy machine
		if want == any(&timeout) {
			env.Elapsed, limits = new(steppingClock).next, Limits{}
		}
		_, err := evaluate(t, env, limits, source)
		if !errors.As(err, want) {
			t.Errorf("%s: %v; want a %T", source, err, want)
		}
	}
}

// passed returns a function that returns the real time since the call of passed.
func passed() func() time.Duration {
	began := ttl.SystemClock{}.Now()
	return func() time.Duration { return ttl.SystemClock{}.Now().Sub(began) }
}

// steppingClock is a clock that advances by a quarter of a second each time it is read.
type steppingClock struct{ n chan time.Duration }

func (s *steppingClock) next() time.Duration {
	if s.n == nil {
		s.n = make(chan time.Duration, 1)
		s.n <- 0
	}
	d := <-s.n + 250*time.Millisecond
	s.n <- d
	return d
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"function () { var s = 'x'; for (;;) s += s; }",
		"function () { var a = []; for (;;) a.push({ x: a.length }); }",
		"function () { var a = [1, 2, 3, 4]; for (;;) a = a.concat(a); }",
	} {
		env := still()
		env.After = ttl.SystemClock{}.After
		_, err := evaluate(t, env, Limits{Memory: 32 << 20}, source)
		var large *SizeOrMemoryLimitError
		var failed *Error
		if !errors.As(err, &large) && !errors.As(err, &failed) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestNoLeakBetweenRuntimes(t *testing.T) {
	t.Parallel()
	var p ScriptCache
	for _, source := range []string{
		"function () { Object.prototype.x = 1; Array.prototype.push = null; JSON.parse = null; Math.max = () => 7; y = 5; return ({}).x; }",
		"function () { return [typeof ({}).x, typeof [].push, typeof JSON.parse, Math.max(1, 2), typeof y]; }",
	} {
		r, err := p.Open(context.Background(), still(), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := r.Function("f", source)
		if err != nil {
			t.Fatal(err)
		}
		v, err := f.Call(nil)
		if got := string(v.Raw()); err != nil || got != "1" &&
			got != `["undefined","function","function",2,"undefined"]` {
			t.Errorf("%s, %v", got, err)
		}
		r.Close()
	}
}

func TestContextStopsScript(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	var p ScriptCache
	r, err := p.Open(ctx, still(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := r.Function("f", "function () { for (;;) ; }")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := f.Call(nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestScriptCacheIsBounded(t *testing.T) {
	t.Parallel()
	var p ScriptCache
	for i := range 2 * maxPrograms {
		if err := p.Prepare("f", fmt.Sprintf("function () { return %d; }", i)); err != nil {
			t.Fatal(err)
		}
	}
	if p.recent.Len() != maxPrograms {
		t.Errorf("%d programs are kept", p.recent.Len())
	}
	if err := p.Prepare("f", strings.Repeat(" ", maxSource+1)); err == nil {
		t.Error("a text beyond the limit is compiled")
	}
}

// TestDeeplyNestedScripts compiles deeply nested scripts, and checks that the recursion of the parser does
// not crash the process.
func TestDeeplyNestedScripts(t *testing.T) {
	racetest.Sequential(t)
	for _, part := range []string{"!", "(", "[", "{", "a=>", "new ", "a?b:", "a.", "1+", "if(1)", "{a:",
		"`${", "f(", "x=", "a,", "typeof ", "async()=>", "a||"} {
		var p ScriptCache
		_ = p.Prepare("f", "function () { return "+strings.Repeat(part, (deepSource-64)/len(part))+" }")
		_ = p.Prepare("f", strings.Repeat(part, deepSource/len(part)))
	}
}

func FuzzBorder(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x",null,{"__proto__":{"b":1}}],"toJSON":1}`, `"\ud800\u0000"`,
		`-0`, `1e400`, `123456789012345678901`, `{"":{},"length":9e99,"constructor":[]}`} {
		f.Add(seed)
	}
	var p ScriptCache
	f.Fuzz(func(t *testing.T, text string) {
		if jsondoc.Valid([]byte(text), jsondoc.Limits{}) != nil {
			return
		}
		r, err := p.Open(context.Background(), still(), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		same, err := r.Function("same", "function (a) { return JSON.parse(JSON.stringify(a)); }")
		if err != nil {
			t.Fatal(err)
		}
		once, err := same.Call([]jsondoc.Value{jsondoc.Of([]byte(text))})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if jsondoc.Valid(once.Raw(), jsondoc.Limits{}) != nil {
			t.Fatalf("%s became %s", text, once.Raw())
		}
		twice, err := same.Call([]jsondoc.Value{once})
		if err != nil || string(once.Raw()) != string(twice.Raw()) {
			t.Fatalf("%s became %s and then %s, %v", text, once.Raw(), twice.Raw(), err)
		}
	})
}

func FuzzSource(f *testing.F) {
	for _, seed := range []string{"function () { return 1; }", "a => a", "(",
		"//# sourceMappingURL=/etc/passwd\nfunction () {}", "`${", "class A { #x = 1 }", "/(?<a>x)\\k<a>/"} {
		f.Add(seed)
	}
	var p ScriptCache
	f.Fuzz(func(t *testing.T, source string) {
		err := p.Prepare("f", source)
		var failed *Error
		var large *SizeOrMemoryLimitError
		if err != nil && !errors.As(err, &failed) && !errors.As(err, &large) {
			t.Fatalf("%q: %v", source, err)
		}
	})
}
