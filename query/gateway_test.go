package query

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/gateway"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// rewrittenQueries returns all queries that a client sends to partition ranges by the plan p.
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

// FuzzGateway makes the plan for merging clients of a fuzzed query. A failure must be an *Error, and the
// rewritten queries of the plan must be printed canonically and be valid.
func FuzzGateway(f *testing.F) {
	var cases []queryTestCase
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
		p, err := gateway.Prepare(text, params, info, gateway.GatewayOptions{})
		var wrong *queryerror.Error
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
				wrong.Code == queryerror.CodeTooManyUDFs) &&
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

// tooMuch reports whether a query is so near to a limit of queries that its rewritten queries, in which
// expressions may occur twice, could exceed it.
func tooMuch(text string) bool {
	return strings.Count(strings.ToLower(text), "udf") > bind.MaxUDFs/2 || strings.Count(text, "(")+
		strings.Count(text, "[")+strings.Count(text, "-") > syntax.MaxDepth/4
}
