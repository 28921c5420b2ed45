package query

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/gateway"
	"github.com/mayflydb/mayfly/query/syntax"
)

// TestGatewayPlans pins the plans of queries: first the rewritten query, then what of the plan is not as in
// that of SELECT *.
func TestGatewayPlans(t *testing.T) {
	datatest.Run(t, "testdata/gateway.txt", func(t *testing.T, c *datatest.Case) string {
		o := gateway.GatewayOptions{OnePartition: c.KV["scope"] == "one",
			Continued: c.KV["continued"] != "false"}
		if f, ok := c.KV["features"]; ok {
			o.Features = strings.Split(f, ",")
		}
		info := bind.Info{PartitionPaths: []jsondoc.Path{jsondoc.PathOf("key")},
			Vectors: map[string]string{"/far": "euclidean"}}
		if c.Cmd == "hierarchical" {
			info.PartitionPaths = append(info.PartitionPaths, jsondoc.PathOf("key2"))
		} else if c.Cmd != "plan" {
			return c.Unknown()
		}
		text, tail, _ := strings.Cut(c.Input, "@@\n")
		var params []bind.Parameter
		jsondoc.Of([]byte(tail)).Each(func(name string, v jsondoc.Value) bool {
			params = append(params, bind.Parameter{Name: name, Value: v})
			return true
		})
		p, err := gateway.NewPlan(strings.TrimSpace(text), params, info, o)
		if err != nil {
			return "error: " + err.Error()
		}
		return describe(t, p)
	})
}

// describe prints a plan.
func describe(t *testing.T, p *gateway.GatewayPlan) string {
	raw, err := p.JSON([]gateway.KeyRange{})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	plan := jsondoc.Of(raw)
	plan.Member("hybridSearchQueryInfo").Each(func(name string, v jsondoc.Value) bool {
		switch text := string(v.Raw()); {
		case name == "componentQueryInfos":
			v.Each(func(_ string, one jsondoc.Value) bool {
				out.WriteString("component\n")
				describeInfo(&out, one, "  ")
				return true
			})
		case v.Kind() == jsondoc.String:
			out.WriteString(name + ": " + strings.ReplaceAll(v.Str(), "\n", "\n  ") + "\n")
		default:
			out.WriteString(name + ": " + text + "\n")
		}
		return true
	})
	describeInfo(&out, plan.Member("queryInfo"), "")
	keys, ok := p.PinnedKeys()
	if ok {
		out.WriteString("keys:")
		for _, key := range keys {
			out.WriteString(" " + string(arrayOf(key).Raw()))
		}
		out.WriteString("\n")
	}
	return out.String()
}

func describeInfo(out *strings.Builder, info jsondoc.Value, indent string) {
	if text := info.Member("rewrittenQuery").Str(); text != "" {
		out.WriteString(indent + strings.ReplaceAll(text, "\n", "\n"+indent) + "\n")
	}
	info.Each(func(name string, v jsondoc.Value) bool {
		switch text := string(v.Raw()); text {
		case `"None"`, "null", "[]", "{}", `""`, "false":
		default:
			if name != "rewrittenQuery" {
				out.WriteString(indent + name + ": " + text + "\n")
			}
		}
		return true
	})
}

// rewrittenQueries are all queries of a plan that clients send.
func rewrittenQueries(p *gateway.GatewayPlan) (list []string) {
	if p.Hybrid != nil {
		list = append(list, p.Hybrid.GlobalStatisticsQuery)
		for _, one := range p.Hybrid.Components {
			list = append(list, one.RewrittenQuery)
		}
	} else if p.Info.RewrittenQuery != "" {
		list = append(list, p.Info.RewrittenQuery)
	}
	return list
}

// FuzzGateway makes plans of any text that is a query: a plan is refused with an *Error, and what it has
// clients ask for is printed canonically and can be answered.
func FuzzGateway(f *testing.F) {
	var cases []queryCase
	readJSON(f, "testdata/query-cases.json", &cases)
	for _, c := range cases {
		f.Add(c.Query)
	}
	for seed := range uint64(100) {
		f.Add(randomQuery(rand.New(rand.NewPCG(seed, 9))))
	}
	for _, text := range []string{
		"SELECT TOP 2 c.x FROM c.o c ORDER BY RANK RRF(FullTextScore(c.x, 'a', @s), VectorDistance(c.v, [1]), [1, -2])",
		"SELECT x.k, y FROM c.o x JOIN y IN x.list WHERE EXISTS(SELECT VALUE c FROM c IN x.l) ORDER BY x.k DESC OFFSET 1 LIMIT 2",
		"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)",
		"SELECT DISTINCT c.a, AVG(c.b) FROM c GROUP BY c.a",
	} {
		f.Add(text)
	}
	info := planInfo(f)
	info.Lenient = true
	params := []bind.Parameter{{Name: "@p", Value: jsondoc.NumberValue(1)}, {Name: "@s",
		Value: jsondoc.StringValue("a")}}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Prepare(text, params, info); err != nil {
			return
		}
		p, err := gateway.NewPlan(text, params, info, gateway.GatewayOptions{})
		var wrong *fault.Error
		if errors.As(err, &wrong) {
			return
		} else if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if raw, err := p.JSON(nil); err != nil || jsondoc.Valid(raw, jsondoc.Limits{MaxDepth: 10}) != nil {
			t.Fatalf("%q: %s, %v", text, raw, err)
		}
		for _, one := range rewrittenQueries(p) {
			_, err := Prepare(one, params, info)
			if errors.As(err, &wrong) && (wrong.Code == syntax.CodeSyntax ||
				wrong.Code == fault.CodeTooManyUDFs) &&
				tooMuch(text) {
				continue
			}
			if err != nil {
				t.Fatalf("%q is rewritten as %q: %v", text, one, err)
			}
			q, err := syntax.Parse(one)
			if err != nil || syntax.Print(q) != one {
				t.Fatalf("%q is rewritten as %q, which prints as %q, %v", text, one, syntax.Print(q), err)
			}
		}
	})
}

// tooMuch tells of a query near a limit, which what it is rewritten to may exceed: a plan shows values twice.
func tooMuch(text string) bool {
	return strings.Count(strings.ToLower(text), "udf") > bind.MaxUDFs/2 || strings.Count(text, "(")+
		strings.Count(text, "[")+strings.Count(text, "-") > syntax.MaxDepth/4
}

// TestRankLimit: what a range is asked for fits into 32 bits with a sign, as clients keep it, however much
// the client asks for.
func TestRankLimit(t *testing.T) {
	for tail, most := range map[string]string{
		"OFFSET 1 LIMIT 2147483647": "2147483647", "OFFSET 0 LIMIT 1073741823": "2147483646",
		"OFFSET 1 LIMIT 1073741823": "2147483647",
		"OFFSET 1 LIMIT 200":        "402",
	} {
		p, err := gateway.NewPlan(`SELECT * FROM c ORDER BY RANK FullTextScore(c.t, "a") `+tail, nil,
			bind.Info{},
			gateway.GatewayOptions{})
		if err != nil {
			t.Fatal(tail, err)
		}
		plan, err := p.JSON(nil)
		if err != nil || !strings.Contains(string(plan), "LIMIT "+most+`"`) &&
			!strings.Contains(string(plan), "TOP "+most+" ") {
			t.Errorf("%s asks for other than %s rows: %s, %v", tail, most, plan, err)
		}
	}
}
