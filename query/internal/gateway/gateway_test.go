package gateway

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/plan"
)

// TestGatewayPlans compares the plans of queries with the golden file testdata/gateway.txt. A plan is
// printed as its rewritten query, followed by what differs from the plan of SELECT *.
func TestGatewayPlans(t *testing.T) {
	datatest.Run(t, "testdata/gateway.txt", func(t *testing.T, c *datatest.TestFileCommand) string {
		o := GatewayOptions{OnePartition: c.KV["scope"] == "one",
			Continued: c.KV["continued"] != "false"}
		if f, ok := c.KV["features"]; ok {
			o.Features = strings.Split(f, ",")
		}
		info := bind.ContainerInfo{PartitionPaths: []jsondoc.Path{jsondoc.PathOf("key")},
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
		text = strings.TrimSpace(text)
		out := described(t)(Prepare(text, params, info, o))
		checkOf(t, c.Pos, out, text, params, info, o)
		return out
	})
}

// checkOf checks that Of, which makes the plan from a query that is already planned, gives the same plan
// (printed as want) as Prepare, also when called by several goroutines, and does not change the planned
// query.
func checkOf(
	t *testing.T,
	pos, want, text string,
	params []bind.Parameter,
	info bind.ContainerInfo,
	o GatewayOptions,
) {
	var err error
	if info.Index, err = index.NewIndexer(index.IndexingSettings{Policy: index.Default()}, nil); err != nil {
		t.Fatal(err)
	}
	info.Lenient = true
	p, err := plan.Prepare(text, params, info)
	if err != nil {
		return // the text is refused before anybody asks how to merge
	}
	before := p.String()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if got := described(t)(Of(p, o)); got != want {
				t.Errorf("%s: %s\nof its plan:\n%s\nwant\n%s", pos, text, got, want)
			}
		})
	}
	all.Wait()
	if after := p.String(); after != before {
		t.Errorf("%s: the plan became\n%s\nand was\n%s", pos, after, before)
	}
}

// described returns a function that prints a plan, or the error if there is one.
func described(t *testing.T) func(p *GatewayPlan, err error) string {
	return func(p *GatewayPlan, err error) string {
		if err != nil {
			return "error: " + err.Error()
		}
		return describe(t, p)
	}
}

// describe prints a plan.
func describe(t *testing.T, p *GatewayPlan) string {
	raw, err := p.JSON([]EffectivePartitionKeyRange{})
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
			var values [][]byte
			for _, v := range key {
				values = append(values, v.Raw())
			}
			out.WriteString(" [" + string(bytes.Join(values, []byte(","))) + "]")
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

// TestRankLimit checks that the number of rows that a plan for ORDER BY RANK requests from each range fits
// into 31 bits, as clients store it, even for a larger OFFSET and LIMIT.
func TestRankLimit(t *testing.T) {
	for tail, most := range map[string]string{
		"OFFSET 1 LIMIT 2147483647": "2147483647", "OFFSET 0 LIMIT 1073741823": "2147483646",
		"OFFSET 1 LIMIT 1073741823": "2147483647",
		"OFFSET 1 LIMIT 200":        "402",
	} {
		p, err := Prepare(`SELECT * FROM c ORDER BY RANK FullTextScore(c.t, "a") `+tail, nil,
			bind.ContainerInfo{},
			GatewayOptions{})
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
