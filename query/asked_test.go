package query

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// expressionTestCase is a constant expression and the value that Cosmos DB's own query compiler computes for
// it.
type expressionTestCase struct {
	text    string
	value   string // JSON, or - where it is undefined
	differs bool   // it is known that this package answers something else
}

// readAsked reads the cases in testdata/asked.txt.
func readAsked(t *testing.T) (list []expressionTestCase) {
	t.Helper()
	raw, err := os.ReadFile("testdata/asked.txt")
	if err != nil {
		t.Fatal(err)
	}
	differs := false
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		at := strings.LastIndex(line, " => ")
		switch {
		case strings.HasPrefix(line, "# Known differences"):
			differs = true
		case line == "" || line[0] == '#':
		case at < 0:
			t.Fatalf("%s has no value", line)
		default:
			list = append(list, expressionTestCase{line[:at], line[at+len(" => "):], differs})
		}
	}
	return list
}

// agrees evaluates an expression and reports whether the result equals value, the compiler's result as
// JSON ("-": undefined). got is the result. Numbers may differ in their last digits, those of spatial
// functions a little more, since they depend on the C library and the order of summation.
func agrees(t *testing.T, expression, value string) (ok bool, got string) {
	t.Helper()
	v, err := answerTo("SELECT VALUE " + expression)
	if err != nil {
		return false, err.Error()
	}
	tolerance := 1e-14
	if strings.HasPrefix(expression, "ST_AREA") {
		tolerance = 1e-7
	} else if strings.HasPrefix(expression, "ST_") {
		tolerance = 1e-11
	}
	if v.Kind() == jsondoc.Undefined {
		return value == "-", "-"
	}
	return value != "-" && alike(v, jsondoc.Of([]byte(value)), tolerance), string(v.Raw())
}

func TestRecordedExpressionValues(t *testing.T) {
	t.Parallel()
	list := readAsked(t)
	if len(list) < 300 {
		t.Fatalf("%d values are too few", len(list))
	}
	for _, a := range list {
		ok, got := agrees(t, a.text, a.value)
		if !ok && !a.differs {
			t.Errorf("%s gives %s, want %s", a.text, got, a.value)
		} else if ok && a.differs {
			t.Errorf("%s gives %s, as it should: it is no known difference", a.text, got)
		}
	}
}

// expressionGenerator generates random constant expressions, which refer to no document.
type expressionGenerator struct{ *rand.Rand }

func (g expressionGenerator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g expressionGenerator) number() string {
	return g.pick("0", "1", "-1", "2", "3", "0.5", "-2.5", "10", "1.0", "1e15", "2147483648",
		"9007199254740993", "-9223372036854775808",
		"123.456", "-0.0", "1e300", "0.1", "7", fmt.Sprint(g.IntN(100)-50), fmt.Sprint(g.Float64()*200-100))
}

func (g expressionGenerator) text() string {
	return g.pick(`""`, `"a"`, `"abcabc"`, `"ABC"`, `"b"`, `"a😀b"`, `" x "`, `"é"`, `"2020-02-29"`, `"1"`,
		`"[1,2]"`, `"{\"a\":1}"`)
}

func (g expressionGenerator) date() string {
	zone := g.pick("", "Z", "Z", "Z", "+01:00", "-0730", " +05", "+15:00")
	if g.IntN(4) == 0 {
		return fmt.Sprintf(`"%04d-%02d-%02d%s"`, 1500+g.IntN(600), 1+g.IntN(12), 1+g.IntN(29), zone)
	}
	return fmt.Sprintf(`"%04d-%02d-%02dT%02d:%02d:%02d.%07d%s"`, 1590+g.IntN(500), 1+g.IntN(12), 1+g.IntN(28),
		g.IntN(25), g.IntN(60), g.IntN(60),
		g.IntN(1e7), zone)
}

func (g expressionGenerator) array() string {
	return g.pick("[]", "[1,2,3]", `["a","b","a"]`, "[0.5,-1,2]", "[1,1.0,null]", `[{"a":1,"b":[2]}]`,
		"[[1],[2]]", "[3,4]", "[0,0]")
}

func (g expressionGenerator) position() string {
	return fmt.Sprintf(`{"type":"Point","coordinates":[%.3f,%.3f]}`, g.Float64()*20-5, g.Float64()*20-5)
}

func (g expressionGenerator) value() string {
	switch g.IntN(6) {
	case 0, 1:
		return g.number()
	case 2, 3:
		return g.text()
	case 4:
		return g.array()
	}
	return g.pick("null", "true", "false", "undefined", `{"a":1}`, "NaN", "Infinity")
}

// expression returns a random call or operation.
func (g expressionGenerator) expression() string {
	f := func(name string, args ...string) string { return name + "(" + strings.Join(args, ", ") + ")" }
	part := g.pick(`"yyyy"`, `"mm"`, `"dd"`, `"hh"`, `"mi"`, `"ss"`, `"ms"`, `"mcs"`, `"ns"`)
	switch g.IntN(12) {
	case 0:
		return g.number() + g.pick(" + ", " - ", " * ", " / ", " % ", " & ", " | ", " ^ ", " << ", " >> ",
			" >>> ") + g.number()
	case 1:
		return g.value() + g.pick(" = ", " != ", " < ", " <= ", " > ", " >= ") + g.value()
	case 2:
		return g.value() + g.pick(" IN ", " NOT IN ") + "(" + g.value() + ", " + g.value() + ")"
	case 3:
		return f(g.pick("ABS", "FLOOR", "CEILING", "ROUND", "SIGN", "TRUNC", "SQRT", "SQUARE", "DEGREES",
			"RADIANS", "IS_INTEGER",
			"IS_FINITE_NUMBER", "IntBitNot", "ToString"), g.number())
	case 4:
		return f(g.pick("ROUND", "POWER", "NumberBin", "IntAdd", "IntSub", "IntMul", "IntDiv", "IntMod",
			"IntBitAnd", "IntBitLeftShift"),
			g.number(), g.number())
	case 5:
		return f(g.pick("LENGTH", "LOWER", "UPPER", "REVERSE", "TRIM", "LTRIM", "RTRIM", "StringToNumber",
			"StringToArray", "IS_DATETIME"), g.text())
	case 6:
		return f(g.pick("CONTAINS", "STARTSWITH", "ENDSWITH", "STRINGEQUALS", "INDEX_OF", "LastIndexOf"),
			g.text(), g.text(), g.pick("true", "1", "2"))
	case 7:
		return f(g.pick("LEFT", "RIGHT", "REPLICATE", "INDEX_OF", "SubstringAfter", "LastSubstringBefore",
			"TRIM", "StringSplit"), g.text(),
			g.pick(g.number(), g.text()))
	case 8:
		return f(g.pick("DateTimeToTicks", "DateTimeToTimestamp", "Year", "Month", "Day", "IS_DATETIME"),
			g.date())
	case 9:
		return g.pick(f("DateTimePart", part, g.date()), f("DateTimeAdd", part, g.number(), g.date()),
			f("DateTimeDiff", part, g.date(), g.date()),
			f("DateTimeBin", g.date(), part, g.number()))
	case 10:
		return g.pick(f("ARRAY_SLICE", g.array(), g.number()),
			f("ARRAY_CONTAINS", g.array(), g.value(), "true"), f("SetUnion", g.array(), g.array()),
			f("SetEqual", g.array(), g.array()), f("ARRAY_SUM", g.array()), f("ARRAY_MAX",
				g.array()), f("VectorDistance", g.array(), g.array()),
			f("SUBSTRING", g.text(), g.number(), g.number()), f("REPLACE", g.text(), g.text(), g.text()))
	}
	return g.pick(f("ST_DISTANCE", g.position(), g.position()),
		f("ST_WITHIN", g.position(),
			`{"type":"Polygon","coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]]]}`),
		f("ST_INTERSECTS", g.position(),
			`{"type":"Polygon","coordinates":[[[0,0],[0,10],[10,10],[10,0],[0,0]]]}`))
}

// TestExpressionsAgainstCompiler compares the values of random expressions with those that Cosmos DB's query
// compiler computes, and fails if more than one in a hundred differs. A few are known to differ;
// testdata/asked.txt has examples. MAYFLY_QUERYPLAN names a folder with queryplan.py, which runs the
// compiler; without it the test is skipped.
func TestExpressionsAgainstCompiler(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(compilerFolder)
	if folder == "" {
		t.Skip(compilerFolder + " names no folder with queryplan.py: Cosmos DB's query compiler is not asked")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := expressionGenerator{rand.New(rand.NewPCG(seed, 1))}
	expressions := make([]string, askedExpressions)
	for i := range expressions {
		expressions[i] = g.expression()
	}
	compared, differ := 0, 0
	for i, value := range askValues(t, folder, expressions) {
		if value == "unknown" || strings.HasPrefix(value, "error:") {
			continue
		}
		if value == "undefined" {
			value = "-"
		}
		compared++
		if ok, got := agrees(t, expressions[i], value); !ok {
			differ++
			t.Logf("%s gives %s, the compiler says %s", expressions[i], got, cmp.Or(value, "nothing"))
		}
	}
	t.Logf("%d of %d differ", differ, compared)
	if compared < len(expressions)/3 || differ*100 > compared {
		t.Errorf("%d of %d differ", differ, compared)
	}
}

// askValues returns the values of expressions according to Cosmos DB's query compiler. The value of an
// expression that crashes the compiler, such as the remainder of the least integer by -1, is "unknown".
func askValues(t *testing.T, folder string, expressions []string) (values []string) {
	t.Helper()
	for len(values) < len(expressions) {
		ask := exec.Command("python3", filepath.Join(folder, "queryplan.py"), "value")
		ask.Stdin = strings.NewReader(strings.Join(expressions[len(values):], "\n") + "\n")
		out, err := ask.Output()
		var died *exec.ExitError
		if err != nil && !errors.As(err, &died) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasSuffix(line, "\n") {
				values = append(values, strings.TrimSpace(line))
			}
		}
		if err == nil {
			break
		}
		t.Logf("the compiler ended: %v", err)
		values = append(values, "unknown")
	}
	if len(values) != len(expressions) {
		t.Fatalf("%d values of %d expressions", len(values), len(expressions))
	}
	return values
}
