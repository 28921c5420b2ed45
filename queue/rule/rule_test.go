package rule

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/metamorphic"
)

// testMessage is a Message, with system and application properties in maps, on which tests evaluate rules.
type testMessage struct {
	system map[SystemProperty]Value
	user   map[string]Value
}

func (n *testMessage) System(s SystemProperty) Value {
	if v, ok := n.system[s]; ok {
		return v
	}
	return NullValue()
}

func (n *testMessage) User(name string) Value { return n.user[strings.ToLower(name)] }

func (n *testMessage) SetSystem(s SystemProperty, v Value) { n.system[s] = v }

func (n *testMessage) SetUser(name string, v Value) {
	if v.Kind == Null {
		delete(n.user, strings.ToLower(name))
		return
	}
	n.user[strings.ToLower(name)] = v
}

func example() *testMessage {
	return &testMessage{map[SystemProperty]Value{Label: String("red"), To: String("here"),
		SequenceNumber: Int(5)},
		map[string]Value{
			"color": String("blue"), "price": Int(12), "weight": Number(2.5), "on": Bool(true), "off": Bool(
				false),
			"nothing": NullValue(), "at": Time(1000), "took": Duration(50), "id": UUID("AA"), "raw": Bytes(
				[]byte{1}),
			"big": Int(1<<63 - 1), "odd name": Int(1), "quote]d": Int(2), "pct": String(
				"100%"), "dec": Opaque(
				[]byte{1}),
		}}
}

func TestConditions(t *testing.T) {
	for text, want := range map[string]truthValue{
		"1=1": yes, "1=0": no, "TRUE": yes, "false": no, "on": yes, "off": no, "price": unknown,
		"NULL": unknown, "color = 'blue'": yes, "COLOR = 'blue'": yes, "color = 'Blue'": no,
		"user.color = 'blue'": yes,
		"[odd name] = 1":      yes, `"odd name" = 1`: yes, "[quote]]d] = 2": yes, "user.[color] <> 'x'": yes,
		"sys.Label = 'red'": yes, "SYS.label = 'red'": yes, "sys.Subject = 'red'": yes,
		"sys.ReplyTo = 'x'": unknown, "sys.ReplyTo IS NULL": yes, "sys.SequenceNumber > 4": yes,
		"a > 1": unknown, "NOT (a > 1)": unknown, "a IS NULL": yes, "a IS NOT NULL": no,
		"nothing IS NULL": yes, "price IS NULL": no, "EXISTS(a)": no, "EXISTS(price)": yes,
		"exists(nothing)": yes, "EXISTS(sys.ReplyTo)": no, "NOT EXISTS(a)": yes, "price > 10": yes,
		"price >= 12": yes, "price < 12": no, "price <= 12": yes, "price != 12": no, "price = 12.0": yes,
		"weight = 2.5": yes, "weight > 2": yes, "color > 1": unknown, "color <> 1": unknown,
		"price = '12'": unknown, "on = TRUE": yes, "on <> TRUE": no, "on > FALSE": unknown,
		"nothing = NULL": unknown, "id = id": yes, "id < id": unknown, "raw = raw": yes, "at = at": yes,
		"at > took": unknown, "took >= took": yes, "dec = dec": unknown, "price + 1 = 13": yes,
		"price - 2 * 3 = 6": yes, "(price - 2) * 3 = 30": yes, "price / 5 = 2": yes,
		"price % 5 = 2": yes, "price / 0 = 1": unknown, "weight / 0 = 1": unknown, "-price = -12": yes,
		"+price = 12": yes, "- -price = 12": yes, "color + '!' = 'blue!'": yes,
		"color + 1 = 'blue1'": unknown, "big + 1 > 0": unknown, "big * 2 > 0": unknown,
		"0 - big - 2 < 0": unknown, "price + weight = 14.5": yes, "price % 0 = 0": unknown,
		"7 % -1 = 0": yes, "-9223372036854775808 < 0": yes, "price IN (1, 12)": yes,
		"price IN (1, 2)": no, "price IN (1, a)": unknown, "price NOT IN (1, 2)": yes,
		"price NOT IN (12)": no, "price NOT IN (1, a)": unknown, "a IN (1)": unknown,
		"color LIKE 'b%'": yes, "color LIKE '_lue'": yes, "color NOT LIKE '%x%'": yes,
		"color LIKE 'B%'": no, "price LIKE '1%'": unknown, "pct LIKE '100!%' ESCAPE '!'": yes,
		"color LIKE '%!%' ESCAPE '!'": no, "a LIKE '%'": unknown, "color LIKE a": unknown,
		"on AND on": yes, "on AND off": no, "on AND a=1": unknown, "off AND a=1": no, "on OR a=1": yes,
		"off OR a=1": unknown, "off OR off": no, "NOT on": no, "NOT off": yes, "NOT NOT on": yes,
		"on AND NOT off OR off": yes, "off AND on OR on": yes, "property('Color') = 'blue'": yes,
		"p('co' + 'lor') = 'blue'": yes, "p(1) = 1": unknown, "newid() <> newid()": yes,
		"@limit = 12": yes, "price = @LIMIT": yes, "''''=''''": yes, ".5 = 0.5": yes, "1e3 = 1000": yes,
	} {
		f, err := SQL(text, Parameter{"limit", Int(12)})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := truthIn(&evaluatedMessage{example()}, f.tree); got != want {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
		again, err := SQL(f.String(), Parameter{"limit", Int(12)})
		if err != nil || again.String() != f.String() {
			t.Errorf("%s is written as %s, then as %s, %v", text, f, again, err)
		}
	}
}

func TestInvalidConditions(t *testing.T) {
	for text, at := range map[string]int{
		"": 0, "price >": 7, "price > > 1": 8, "(1=1": 4, "1=1)": 3, "price = 'x": 8, "[x = 1": 0,
		"[] = 1": 0, "sys.Nobody = 1": 4, "other.x = 1": 0, "@p = 1": 0, "@ = 1": 0, "f(1) = 1": 0,
		"price IN ()": 10, "price IN (1": 11, "price LIKE": 10, "price LIKE 'x' ESCAPE 'xy'": 26,
		"price NOT 1": 10, "price IS 1": 9, "(1=1) = 1": 9, "(1=1) + 1 = 2": 10, "ä§": 1,
		"99999999999999999999 = 1": 0, "1e999 = 1": 0, "AND": 0, "user. = 1": 6, "EXISTS(1)": 7,
		"1 = 1 1":                      6,
		strings.Repeat("(", 200) + "1": 100, strings.Repeat("NOT ", 200) + "on": 404, "1" +
			strings.Repeat("+1", 200): 201,
		strings.Repeat("x", 1025): 1024,
	} {
		var e *SyntaxError
		if f, err := SQL(text); !errors.As(err, &e) || e.Position != at {
			t.Errorf("%.40q: %s, %v at %d", text, f, err, at)
			if e != nil {
				t.Logf("it is at %d", e.Position)
			}
		}
	}
}

func TestActions(t *testing.T) {
	for text, want := range map[string]string{
		"SET color = 'green'":                   "green",
		"SET new = 1 + 1; SET color = 7":        "7",
		"REMOVE color":                          "",
		"SET color = NULL":                      "",
		"set Color = sys.Label;":                "red",
		"SET price = 12.0":                      "blue",
		"SET sys.ScheduledEnqueueTimeUtc = 'x'": "blue",
	} {
		a, err := NewAction(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		m := example()
		if err := a.Run(m); err != nil || m.User("color").Text() != want {
			t.Errorf("%s: color is %q, %v", text, m.User("color").Text(), err)
		}
		if again, err := NewAction(a.String()); err != nil || again.String() != a.String() {
			t.Errorf("%s is written as %s, then as %s, %v", text, a, again, err)
		}
	}
	m := example()
	a, err := NewAction("SET sys.Label = 'x' + 'y'; SET sys.To = NULL; SET weight = 3; " +
		"SET price = '44'; SET on = 'false'")
	if err != nil || a.Run(m) != nil || m.System(Label).Text() != "xy" || m.System(To).Kind != Null ||
		m.User("weight") != Number(3) || m.User("price") != Int(44) || m.User("on").Bool() {
		t.Errorf("%+v, %v", m, err)
	}
	both := example()
	a, err = NewAction("SET one=1 set two = one + 1 REMOVE price;SET sys.To='x' REMOVE weight;")
	if err != nil || a.Run(both) != nil || both.User("one") != Int(1) || both.User("two") != Int(2) ||
		both.User("price").Kind > Null || both.System(To).Text() != "x" || both.User("weight").Kind > Null {
		t.Errorf("statements without ';' between them: %+v, %v", both, err)
	}
	for _, text := range []string{"SET price = 'x'", "SET price = 1.5", "SET on = 1"} {
		a, err := NewAction(text)
		if err != nil {
			t.Fatal(err)
		}
		var e *ActionError
		if err := a.Run(example()); !errors.As(err, &e) || e.Exception != "RuleActionException" {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "SET", "SET a", "SET a 1", "SET a = 1 = 2", "REMOVE",
		"SET sys.SequenceNumber = 1", "SET a = 1 b = 2",
		"DROP a", "SET a = 1;; SET b = 2", strings.Repeat("REMOVE a;", 33), "SET a = (1=1)"} {
		var e *SyntaxError
		if _, err := NewAction(text); !errors.As(err, &e) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestCorrelation(t *testing.T) {
	for name, c := range map[string]struct {
		asked CorrelationFilter
		want  bool
	}{
		"label":         {CorrelationFilter{Label: "red"}, true},
		"another label": {CorrelationFilter{Label: "Red"}, false},
		"both":          {CorrelationFilter{Label: "red", To: "here"}, true},
		"one is wrong":  {CorrelationFilter{Label: "red", To: "there"}, false},
		"property":      {CorrelationFilter{Properties: []Parameter{{"Price", Number(12)}}}, true},
		"another type":  {CorrelationFilter{Properties: []Parameter{{"price", String("12")}}}, false},
		"missing":       {CorrelationFilter{Properties: []Parameter{{"a", Int(1)}}}, false},
		"not there":     {CorrelationFilter{ReplyTo: "x"}, false},
	} {
		f, err := NewCorrelationFilter(c.asked)
		if err != nil || f.Match(example()) != c.want {
			t.Errorf("%s: %t, %v", name, f.Match(example()), err)
		}
	}
	if _, err := NewCorrelationFilter(CorrelationFilter{}); err == nil {
		t.Error("a filter that asks for nothing")
	}
}

func TestStoredFilterRoundTrip(t *testing.T) {
	sql, err := SQL("price > @p AND color = 'blue'", Parameter{"p", Number(1.5)})
	if err != nil {
		t.Fatal(err)
	}
	correlation, err := NewCorrelationFilter(CorrelationFilter{Label: "red", Properties: []Parameter{{"id",
		UUID("aa")}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Filter{{}, False(), sql, correlation} {
		raw, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var got Filter
		if err := json.Unmarshal(raw, &got); err != nil || got.Kind() != f.Kind() ||
			got.String() != f.String() ||
			got.Match(example()) != f.Match(example()) ||
			fmt.Sprint(got.Correlation()) != fmt.Sprint(f.Correlation()) {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
	a, err := NewAction("SET a = @p", Parameter{"p", String("\xff")})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(a)
	var got Action
	if err != nil || json.Unmarshal(raw, &got) != nil || got.String() != a.String() ||
		got.Parameters()[0].Value.Text() != "\xff" {
		t.Errorf("%s, %+v, %v", raw, got, err)
	}
}

// naive reports whether a text matches a LIKE pattern, by the simplest algorithm, with which matches is
// compared.
func naive(text []rune, pattern []likePatternPiece) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	if pattern[0].many {
		return naive(text, pattern[1:]) || len(text) > 0 && naive(text[1:], pattern)
	}
	return len(text) > 0 && (pattern[0].any || pattern[0].r == text[0]) && naive(text[1:], pattern[1:])
}

func TestLike(t *testing.T) {
	seed := metamorphic.FirstSeed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	word := func(letters string, n int) string {
		var b strings.Builder
		all := []rune(letters)
		for range r.IntN(n) {
			b.WriteRune(all[r.IntN(len(all))])
		}
		return b.String()
	}
	for range 50_000 {
		text, pattern := word("abä", 8), cut(word("abä%_", 7), '!')
		if got, want := matches(text, pattern), naive([]rune(text), pattern); got != want {
			t.Fatalf("%q like %v: %t", text, pattern, got)
		}
	}
	if matches(strings.Repeat("a", 100_000), cut(strings.Repeat("a%", 500)+"b", '!')) {
		t.Error("it does not match")
	}
}

// FuzzRule checks that fuzzed expressions make neither the parser nor the evaluation panic, and that the
// printed form of an expression is parsed to the same expression.
func FuzzRule(f *testing.F) {
	for _, seed := range []string{"color = 'x' AND NOT (price + 1 > -2) OR a IN (1, @p)",
		"SET a = -(-1); REMOVE b", "-(5) = 1"} {
		f.Add(seed)
	}
	p := Parameter{"p", Int(1)}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := NewAction(text, p); err == nil {
			_ = a.Run(example())
			if again, err := NewAction(a.String(), p); err == nil && again.String() != a.String() {
				t.Fatalf("%q is %q, then %q", text, a, again)
			}
		}
		c, err := SQL(text, p)
		if err != nil {
			return
		}
		got := c.Match(example())
		again, err := SQL(c.String(), p)
		if err != nil {
			if len(c.String()) < maxExpression && !strings.Contains(err.Error(), "deeply") {
				t.Fatalf("%q is %q: %v", text, c, err)
			}
			return
		}
		if again.String() != c.String() || !strings.Contains(strings.ToLower(text), "newid") &&
			again.Match(example()) != got {
			t.Fatalf("%q is %q, then %q", text, c, again)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	f, err := SQL("color = 'red' AND price > 10")
	if err != nil {
		b.Fatal(err)
	}
	m := example()
	for b.Loop() {
		f.Match(m)
	}
}
