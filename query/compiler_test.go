package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/gateway"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// compilerFolder is the environment variable that names a folder with queryplan.py, which asks Cosmos DB's
// own query compiler.
const compilerFolder = "MAYFLY_QUERYPLAN"

// TestCompilerAnswers compares the plans and errors of this package with the recorded answers of Cosmos
// DB's query compiler to the same queries, in testdata/compiler.txt. It compares errors and the parts of
// plans that clients use.
func TestCompilerAnswers(t *testing.T) {
	t.Parallel()
	datatest.Run(t, "testdata/compiler.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
		var out strings.Builder
		for _, text := range c.Lines() {
			out.WriteString(ourAnswer(t, text) + "\n")
		}
		return out.String()
	})
}

// TestCompiler runs Cosmos DB's query compiler. It checks that its answers are still those in
// testdata/compiler.txt, and compares its answers with those of this package for the shared cases and for
// random queries.
func TestCompiler(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(compilerFolder)
	if folder == "" {
		t.Skip(compilerFolder + " names no folder with queryplan.py: Cosmos DB's query compiler is not asked")
	}
	t.Run("answers", func(t *testing.T) {
		datatest.Run(t, "testdata/compiler.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
			return strings.Join(askCompiler(t, folder, c.Lines()), "\n") + "\n"
		})
	})
	t.Run("queries", func(t *testing.T) {
		known := knownDifferences(t)
		var texts []string
		var cases []queryTestCase
		readJSON(t, "testdata/query-cases.json", &cases)
		for _, c := range cases {
			if len(c.Parameters) == 0 && !strings.ContainsAny(c.Query, "{\n") {
				texts = append(texts, c.Query)
			}
		}
		for seed := range uint64(1000) {
			texts = append(texts, randomQuery(rand.New(rand.NewPCG(seed, 21))))
		}
		for _, d := range known {
			if strings.HasPrefix(d.query, "SELECT ") {
				texts = append(texts, d.query)
			}
		}
		met := map[string]bool{}
		for i, want := range askCompiler(t, folder, texts) {
			got := ourAnswer(t, texts[i])
			if got == want {
				continue
			}
			j := slices.IndexFunc(known, func(d knownCosmosDifference) bool {
				return d.explains(texts[i],
					want)
			})
			if j < 0 {
				t.Errorf("%s\ngot  %s\nwant %s", texts[i], got, want)
				continue
			}
			met[known[j].reason] = true
		}
		for _, d := range known {
			if !met[d.reason] {
				t.Errorf("no query differs by %q any more", d.reason)
			}
		}
	})
}

// knownCosmosDifference describes queries for which this package is known to answer differently than Cosmos
// DB's query compiler: the text that the query contains, the text that the compiler's answer contains (after
// "=": the whole answer), and the reason.
type knownCosmosDifference struct{ query, answer, reason string }

func (d *knownCosmosDifference) explains(query, answer string) bool {
	whole, equal := strings.CutPrefix(d.answer, "=")
	return strings.Contains(strings.ToLower(query), strings.ToLower(d.query)) &&
		(equal && answer == whole || !equal && strings.Contains(answer, d.answer))
}

func knownDifferences(t *testing.T) (list []knownCosmosDifference) {
	raw, err := os.ReadFile("testdata/compiler-differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		part := strings.Split(line, " | ")
		if len(part) != 3 {
			t.Fatalf("%q is not: part of the query | part of the answer | reason", line)
		}
		list = append(list, knownCosmosDifference{strings.Trim(part[0], " "), strings.Trim(part[1], " "),
			part[2]})
	}
	return list
}

// askCompiler returns the answers of Cosmos DB's query compiler, a plan or an error each, to queries over
// a container with the partition key /key.
func askCompiler(t *testing.T, folder string, texts []string) []string {
	t.Helper()
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, text := range texts {
		if err := enc.Encode(map[string]any{"query": text, "pk": []string{"/key"},
			"parameters": askedParameters}); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("python3", filepath.Join(folder, "queryplan.py"), "plan")
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the compiler cannot be asked: %v", err)
	}
	var answers []string
	for line := range bytes.Lines(out) {
		answer := jsondoc.Of(bytes.TrimSpace(line))
		if wrong := answer.Member("error"); wrong.Kind() != jsondoc.Undefined {
			answers = append(answers, verdict(wrong.Raw()))
		} else {
			answers = append(answers, planAnswer(t, answer.Member("plan")))
		}
	}
	if len(answers) != len(texts) {
		t.Fatalf("%d answers to %d queries", len(answers), len(texts))
	}
	return answers
}

// askedParameters are the parameters that the tests send to Cosmos DB's query compiler with every query.
var askedParameters = []map[string]any{
	{"name": "@p", "value": 1}, {"name": "@s", "value": "a"}, {"name": "@l",
		"value": []int{1, 2}}, {"name": "@o", "value": map[string]int{"a": 1}},
	{"name": "@n", "value": nil},
}

// ourAnswer returns this package's plan or error for a query, as text that can be compared with the answer of
// Cosmos DB's query compiler (askCompiler).
func ourAnswer(t *testing.T, text string) string {
	t.Helper()
	var params []bind.Parameter
	for _, p := range askedParameters {
		raw, err := json.Marshal(p["value"])
		if err != nil {
			t.Fatal(err)
		}
		params = append(params, bind.Parameter{Name: p["name"].(string), Value: jsondoc.Of(raw)})
	}
	p, err := gateway.Prepare(text, params,
		bind.ContainerInfo{PartitionPaths: []jsondoc.Path{jsondoc.PathOf("key")}},
		gateway.GatewayOptions{Continued: true})
	var wrong *queryerror.Error
	switch {
	case errors.As(err, &wrong):
		return verdict([]byte(wrong.JSON()))
	case err != nil:
		t.Fatalf("%s: %v", text, err)
	}
	raw, err := p.JSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	return planAnswer(t, jsondoc.Of(raw))
}

// verdict returns the first error of the JSON errors in body as one line: its code and position, or its
// text if it has neither.
func verdict(body []byte) string {
	var said struct {
		Upper []string `json:"Errors"`
		Lower []struct {
			Code     any
			Location *struct{ Start, End int }
		} `json:"errors"`
	}
	d := jsondoc.Of(body)
	if list := d.Member("Errors"); list.Kind() == jsondoc.Array {
		return "refused: " + string(list.Raw())
	}
	if err := json.Unmarshal(body, &said); err != nil || len(said.Lower) == 0 {
		return "refused: " + string(body)
	}
	slices.SortStableFunc(said.Lower, func(a, b struct {
		Code     any
		Location *struct{ Start, End int }
	}) int {
		if a.Location == nil || b.Location == nil {
			return 0
		}
		return a.Location.Start - b.Location.Start
	})
	first := said.Lower[0]
	if first.Location == nil {
		return fmt.Sprint("refused: ", first.Code)
	}
	return fmt.Sprint("refused: ", first.Code, " ", first.Location.Start, "..", first.Location.End)
}

// planAnswer returns the parts of a gateway plan that clients use as one line, so that the plans of this
// package and of the compiler can be compared.
func planAnswer(t *testing.T, plan jsondoc.Value) string {
	t.Helper()
	info := plan.Member("queryInfo")
	if hybrid := plan.Member("hybridSearchQueryInfo"); hybrid.Kind() == jsondoc.Object {
		return "ranked: " + hybrid.Member("globalStatisticsQuery").Str()
	}
	text := "plan"
	for _, name := range []string{"rewrittenQuery", "distinctType", "top", "offset", "limit", "orderBy",
		"orderByExpressions", "groupByExpressions",
		"groupByAliases", "aggregates", "groupByAliasToAggregateType", "hasSelectValue", "dCountInfo",
		"hasNonStreamingOrderBy"} {
		var v any
		if raw := info.Member(name).Raw(); len(raw) > 0 {
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatal(err)
			}
		}
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if value == nil {
					v[key] = "" // the service tells null, its compiler an empty string
				}
			}
		case float64:
			if strings.HasPrefix(name, "has") {
				if v != 0 {
					text += " " + name
				}
				continue
			}
		case bool:
			if v {
				text += " " + name
			}
			continue
		}
		raw, err := jsondoc.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		switch said := string(raw); said {
		case "null", "[]", "{}", `""`, `"None"`:
		default:
			text += " " + name + "=" + said
		}
	}
	return text
}
