package script

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/ttl"
)

// TestExpensiveOperationsEnd runs single instructions and calls of built-in functions that would take minutes
// or gigabytes without limits. Each must end by itself or within a short time after it was stopped, measured
// by the real clock.
func TestExpensiveOperationsEnd(t *testing.T) {
	const limit, slack = 100 * time.Millisecond, 30 * time.Second
	for i, body := range []string{
		// regular expressions that try
		`return new RegExp("(?=)^" + "(a|aa)".repeat(45) + "$").test("a".repeat(89) + "!")`,
		`return new RegExp("(?=)^" + "(a?)".repeat(60) + "b").test("a".repeat(60))`,
		`return "a".repeat(89).replace(new RegExp("(?=)^" + "(a|aa)".repeat(45) + "!$"), "")`,
		`return "a".repeat(89).split(new RegExp("(?=)^" + "(a|aa)".repeat(45) + "!$"))`,
		`return ("a".repeat(40) + "!").search(/(?=a)(a+)+$/)`,
		`return [...("a".repeat(40) + "!").matchAll(/(?=a)(a+)+$/g)].length`,
		`return /(?=a)(a+)+$/[Symbol.match]("a".repeat(40) + "!")`,
		`for (;;) try { /(?=a)(a+)+$/.test("a".repeat(40) + "!"); } catch (e) {}`,
		// and those that do not, with a great pattern and a long text
		`return new RegExp("(a?){1000}b").test("a".repeat(1e6))`,
		`return new RegExp("(a?)".repeat(4000) + "b").test("a".repeat(1e5))`,
		`return new RegExp("(".repeat(1e6) + ")".repeat(1e6)).test("a")`,
		`return "a".search("(".repeat(1e6))`,
		// lists that become arguments
		`return Math.max(...new Array(4e6))`,
		`return Math.max(...(function* () { for (;;) yield 1; })())`,
		`return new Date(...new Array(4e6))`,
		`return Math.max.apply(null, new Array(1e6))`,
		`return Reflect.apply(Math.max, null, { length: 1e6 })`,
		`return Reflect.construct(Array, new Array(1e6)).length`,
		`return String.fromCharCode(..."x".repeat(1e6))`,
		`return { ..."x".repeat(1.5e7) }.length`,
		// sorting and searching what is long to compare
		`for (;;) { var a = new Array(1e6); for (var i = 0; i < 1e6; i++) a[i] = i * 7919 % 1e6; a.sort(); }`,
		`var a = new Array(1e5), s = "x".repeat(1e7); for (var i = 0; i < 1e5; i++) a[i] = s + (i % 2); a.sort(); for (;;) a.sort();`,
		`var s = "x".repeat(1e7) + "y", a = new Array(1e6).fill("x".repeat(1e7) + "z"); for (;;) a.indexOf(s);`,
		`var s = "x".repeat(1e7) + "y", a = new Array(1e6).fill("x".repeat(1e7) + "z"); for (;;) a.includes(s);`,
		`return ("é" + "a".repeat(8e6)).indexOf("a".repeat(4e6) + "b")`,
		`return ("é" + "a".repeat(8e6)).lastIndexOf("b" + "a".repeat(4e6))`,
		`return ("é" + "a".repeat(8e5)).split("a".repeat(4e5) + "b").length`,
		`return ("é" + "a".repeat(8e6)).replace("a".repeat(4e6) + "b", "").length`,
		`return ("é" + "a".repeat(8e6)).includes("a".repeat(4e6) + "b")`,
		// text
		`return "\ufdfa".repeat(4e6).normalize("NFKD").length`,
		`return "\ufdfa".repeat(4e6).localeCompare("\ufdfb".repeat(4e6))`,
		`return encodeURIComponent("\ufdfa".repeat(1.6e7)).length`,
		`var s = "x"; while (true) s += s`,
		`var s = "x"; for (var i = 0; i < 40; i++) s = s + s; return s.length`,
		`var o = { s: "x" }; function f() { return o; } for (;;) f().s += o.s`,
		"var s = 'x'; for (;;) s = `${s}${s}`",
		"var s = 'x'.repeat(1e7); for (;;) s = `" + strings.Repeat("${s}", 1000) + "`",
		`var s = "x"; for (;;) try { s += s; } catch (e) {} finally { continue; }`,
		`var s = "x".repeat(1e7); var o = { toString: function () { return s; } }; for (;;) s = o + o`,
		`return "x".repeat(1e6).replace(/x/g, function () { return "y".repeat(1e6); }).length`,
		`return "x".concat(...new Array(6e4).fill(["x".repeat(1e6)])).length`,
		`return new Array(1e6).fill("x".repeat(1e6)).toLocaleString().length`,
		`return String.raw({ raw: new Array(1e6).fill("x".repeat(1e6)) }).length`,
		// values
		`return Array.from({ length: 1e9 }, function (x, i) { return i; }).length`,
		`return new Array(4e9).fill(0).length`,
		`var a = [1]; for (;;) a = a.concat(a, a)`,
		`var a = [1]; for (;;) a.push(...a)`,
		`var a = [1]; for (;;) a = [...a, ...a]`,
		`var a = [1]; for (var i = 0; i < 60; i++) a = [a, a]; return a.flat(Infinity)`,
		`return new Array(1e6).fill(0).flatMap(function () { return new Array(1e6).fill(0); }).length`,
		`var a = [1]; for (var i = 0; i < 60; i++) a = [a, a]; return JSON.stringify(a)`,
		`for (;;) JSON.parse("[" + "1,".repeat(4e6) + "1]")`,
		`return BigInt(10) ** BigInt(1e9)`,
		`return new Uint8Array(1e10).length`,
	} {
		if racetest.On && i%4 != 0 {
			continue // each is stopped by the same two goroutines
		}
		env := still()
		env.Elapsed, env.After = passed(), ttl.SystemClock{}.After
		var p ScriptCache
		began := passed()
		r, err := p.Open(context.Background(), env, Limits{Time: limit, Memory: 128 << 20, Grace: slack})
		if err != nil {
			t.Fatal(err)
		}
		f, err := r.Function("f", "function () { "+body+" }")
		if err == nil {
			_, err = f.Call(nil)
		}
		r.Close()
		if took := began(); took > slack {
			t.Errorf("%s: took %v", body, took)
		}
		if p.Stuck() > 0 {
			t.Errorf("%s: was left behind", body)
		}
		var late *TimeoutError
		var large *SizeOrMemoryLimitError
		var failed *Error
		if !errors.As(err, &late) && !errors.As(err, &large) && !errors.As(err, &failed) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestInsertedSizeChecks checks that the size checks inserted into scripts, for example around string
// additions, do not change the results of expressions.
func TestInsertedSizeChecks(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`function (a, b) { return a + b; }`:                                                                                                                                         `3`,
		`function (a, b) { var s = "x"; s += a; s += s; return s + b + s; }`:                                                                                                        `"x1x12x1x1"`,
		"function (a, b) { return `<${a}|${b}>` + `${a}` + `${a}${b}${[a, b]}!`; }":                                                                                                 `"<1|2>1121,2!"`,
		`function (a, b) { var n = { v: a }; function f() { n.v = 40; return b; } n.v += f(); return n; }`:                                                                          `{"v":3}`,
		`function (a, b) { var i = 0, l = [a, b]; l[i++] += b; return [i, l]; }`:                                                                                                    `[1,[3,2]]`,
		`function (a, b) { return Math.max(...[a, b], ...new Set([7])) + [...[a], ...[b]].length; }`:                                                                                `9`,
		`function (a, b) { return { ...{ a: a }, ...[b], ..."y" }; }`:                                                                                                               `{"0":"y","a":1}`,
		`function (a, b) { return (x => x + b)(a) + ((...r) => r.length + a)(...[1, 2, 3]); }`:                                                                                      `7`,
		"function (a, b) { function tag(s, ...v) { return s.raw.join('-') + v; } return tag`x${a}y${b}z`; }":                                                                        `"x-y-z1,2"`,
		`function (a, b) { return [/a|b/ instanceof RegExp, new RegExp("a+", "g").flags, RegExp(/x/i).ignoreCase, /x/.constructor === RegExp, "aXbX".split(RegExp("X")).length]; }`: `[true,"g",true,true,3]`,
		`function () { var s = "x1 😀 y22", re = /(?<=[a-z])(?<n>\d)(\d)?/g, out = [], m; while (m = re.exec(s)) out.push(m.index, m[0], m[2], m.groups.n, re.lastIndex); return out.concat(/(?=😀)./u.exec(s).index, /(?=😀)./u.exec(s)[0].length, /(?=😀)./.exec(s)[0].length, /(.)\1/y.test("aab"), "aabb".replace(/(.)\1/g, "<$1>"), s.split(/(?= )/).length, s.match(/(?!x)\w/g)); }`: `[1,"1",null,"1",2,7,"22","2","2",9,3,2,1,true,"<a><b>",3,"1","y","2","2"]`,
		`function (a, b) { return [[3, 1, undefined, 2, , 10].sort().length, [3, 1, 2].sort((x, y) => y - x), ["b", "a"].indexOf("a"), ["a".repeat(2000)].indexOf("a".repeat(2000)), ["a".repeat(2000)].includes("b".repeat(2000)), ["x", "a".repeat(2000), "y"].lastIndexOf("a".repeat(2000))]; }`:                                                                                    `[6,[3,2,1],1,0,false,1]`,
	} {
		if got, err := evaluate(t, still(), Limits{}, source, "1", "2"); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", source, got, err, want)
		}
	}
	deep := "function () { return 1; }"
	for range 30 {
		deep = "function () { var f = " + deep + "; return f(); }"
	}
	if got, err := evaluate(t, still(), Limits{}, deep); err != nil || got != "1" {
		t.Errorf("functions in functions: %s, %v", got, err)
	}
}
