package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// defaultInfo returns the description of a container with the default indexing policy and the partition
// key /pk, for Prepare.
func defaultInfo(t testing.TB) bind.ContainerInfo {
	t.Helper()
	x, err := index.NewIndexer(index.IndexingSettings{Policy: index.Default()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return bind.ContainerInfo{Index: x, PartitionPaths: []jsondoc.Path{jsondoc.PathOf("pk")}}
}

// TestInvalidQueryErrors checks the errors of invalid queries: code, message, and the part of the text at the
// reported position.
func TestInvalidQueryErrors(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	joins := " JOIN c.a JOIN c.b JOIN c.l JOIN c.d JOIN c.e JOIN c.f JOIN c.g JOIN c.h JOIN c.i JOIN c.j JOIN c.k"
	for _, c := range []struct{ text, code, at, message string }{
		{"SELECT * FORM c", "SC1001", "FORM", "Syntax error, incorrect syntax near 'FORM'."},
		{"SELECT x.a FROM c", "SC2001", "x", "Identifier 'x' could not be resolved."},
		{"SELECT c.a FROM c AS d", "SC2001", "c", "Identifier 'c' could not be resolved."},
		{"SELECT c.a", "SC2001", "c", "Identifier 'c' could not be resolved."},
		{"SELECT c.a FROM c JOIN t IN d.tags", "SC2001", "d", "could not be resolved"},
		{"SELECT VALUE ARRAY(SELECT VALUE t FROM t IN d.tags) FROM c", "SC2001", "d",
			"could not be resolved"},
		{"SELECT nofunc(1)", "SC2005", "nofunc", "'nofunc' is not a recognized built-in function name."},
		{"SELECT RRF(1, 2)", "SC2005", "RRF", "'RRF' is not"},
		{"SELECT abs(1, 2)", "SC2050", "abs(1, 2)", "The abs function requires 1 argument(s)."},
		{"SELECT CONCAT('a')", "SC2050", "CONCAT('a')",
			"The CONCAT function requires at least 2 argument(s)."},
		{"SELECT * FROM c GROUP BY c.a", "SC2041", "*", "'SELECT *' is not allowed with GROUP BY."},
		{"SELECT TOP 1.5 * FROM c", "SC2060", "1.5", "must be an integer"},
		{"SELECT TOP 4294967296 * FROM c", "SC2060", "4294967296", "must be an integer"},
		{"SELECT * FROM c OFFSET 1 LIMIT @none", "SC2061", "@none", "The LIMIT count value"},
		{"SELECT MAX(MIN(c.a)) FROM c", "SC2101", "MAX(MIN(c.a))", "Cannot perform an aggregate function"},
		{"SELECT c.id, COUNT(1) FROM c", "SC2102", "c.id",
			"Property reference 'c.id' is invalid in the select list"},
		{"SELECT c.a.b, UPPER(c.x) FROM c GROUP BY c.a", "SC2102", "c.x", "'c.x'"},
		{"SELECT VALUE (SELECT TOP 1 VALUE 1) FROM c", "SC2203", "1",
			"'TOP' is not supported in subqueries."},
		{"SELECT VALUE (SELECT VALUE 1 OFFSET 0 LIMIT 1) FROM c", "SC2204", "0", "'OFFSET LIMIT' clause"},
		{"SELECT FullTextScore(c.x, 'a') FROM c", "SC2244", "FullTextScore(c.x, 'a')",
			"only allowed in the SELECT, WHERE and ORDER BY RANK"},
		{"SELECT FullTextScore(c.x, 'a') FROM c ORDER BY RANK FullTextScore(c.x, 'a')", "SC2240",
			"FullTextScore(c.x, 'a')", "only allowed in the"},
		{"SELECT * FROM c ORDER BY RANK ABS(1)", "SC2221", "", "must be followed by"},
		{"SELECT * FROM c ORDER BY RANK RRF(ABS(1), ABS(2))", "SC2221", "", "must be followed by"},
		{"SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.x, 'a'), FullTextScore(c.y, 'a'), [1])", "SC2229",
			"", "used for the RRF function. The length"},
		{"SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.x, 'a'))", "SC2233",
			"ORDER BY RANK RRF(FullTextScore(c.x, 'a'))", "at least two component score functions"},
		{"SELECT * FROM c ORDER BY RANK RRF()", "SC2233", "ORDER BY RANK RRF()",
			"at least two component score functions"},
		{"SELECT VALUE t FROM c JOIN (SELECT VALUE x FROM x IN c.l) t ORDER BY t", "", "",
			"Order-by over correlated"},
		{"SELECT VALUE t FROM (SELECT VALUE x FROM x IN c.l) t ORDER BY t", "", "",
			"Order-by over correlated"},
		{"SELECT * FROM c ORDER BY VectorDistance(c.v, 'AQID')", "2206", "", "could not be mapped"},
		{"SELECT * FROM x IN c.a ORDER BY RANK FullTextScore(x.a, 'a')", "SC2223", "x IN c.a", "IN operator"},
		{"SELECT c.a FROM c JOIN c.b ORDER BY RANK FullTextScore(c.a, 'a')", "SC2224", "c JOIN c.b",
			"JOIN operator"},
		{"SELECT s.a FROM (SELECT * FROM c) s ORDER BY RANK FullTextScore(s.a, 'a')", "SC2225",
			"(SELECT * FROM c) s", "Subqueries in the FROM"},
		{"SELECT VALUE ARRAY(SELECT * FROM x IN c.a ORDER BY RANK FullTextScore(x.a, 'a')) FROM c", "SC2228",
			"", "not supported in subqueries"},
		{"SELECT VectorDistance(c.v, [1], true, {'searchListSizeMultiplier': 101}) FROM c", "SC2213", "",
			"between 1 and 100"},
		{"SELECT " + strings.Repeat("udf.f(1), ", 10) + "udf.f(1)", "SC3005", "udf.f(1)",
			"maximum number of 10"},
		{"SELECT * FROM c ORDER BY c.a || 'x'", "2206", "c.a || 'x'",
			"could not be mapped to a document path"},
		{"SELECT * FROM c ORDER BY 1", "2206", "1", "could not be mapped"},
		{"SELECT * FROM c ORDER BY COUNT(1)", "2206", "COUNT(1)", "could not be mapped"},
		{"SELECT t FROM c JOIN t IN c.tags ORDER BY t", "", "",
			"Order-by over correlated collections is not supported."},
		{"SELECT * FROM c ORDER BY c._etag", "", "",
			"The index path corresponding to the specified order-by item is excluded."},
		{"SELECT * FROM c ORDER BY c.a, c.b", "", "", "does not have a corresponding composite index"},
		{"SELECT *", "SC1021", "*", "'SELECT *' is not valid if FROM clause is omitted."},
		{"SELECT * FROM c JOIN c.a", "SC2042", "*", "'SELECT *' is only valid with a single input set."},
		{"SELECT 1 FROM c" + joins, "", "", "maximum number of 10 JOINs"},
		{"SELECT (SELECT VALUE x FROM x IN c.l) FROM c", "SC2201", "SELECT VALUE x FROM x IN c.l",
			"cannot be greater than one."},
		{"SELECT 1 FROM c WHERE COUNT(1) > 1", "SC2104", "COUNT(1)",
			"Aggregates are not allowed in the WHERE clause."},
		{"SELECT c.a FROM c GROUP BY c.a ORDER BY c.z", "SC2103", "c.z",
			"Property reference 'c.z' is invalid in the ORDER BY clause"},
		{"SELECT c.a FROM c GROUP BY UPPER(c.a) ORDER BY c.a", "SC2102", "c.a",
			"'c.a' is invalid in the select list"},
		{"SELECT COUNT(1) FROM c GROUP BY c.a ORDER BY COUNT(1)", "2206", "COUNT(1)",
			"could not be mapped to a document path"},
		{"SELECT VALUE EXISTS (SELECT 1 FROM root c WHERE c.a = 1)", "SC2001", "root",
			"Identifier 'root' could not be resolved."},
		{"SELECT VALUE (SELECT VALUE 1 FROM root)", "SC2001", "root",
			"Identifier 'root' could not be resolved."},
		{"SELECT 1 WHERE EXISTS (SELECT 1 FROM root c)", "SC2001", "root",
			"Identifier 'root' could not be resolved."},
		{"SELECT [1,2,3][c.i] FROM c", "SC2990", "[1,2,3][c.i]",
			"'member indexer' which is currently not supported."},
		{"SELECT c.L[c.i - 1] FROM c", "SC2990", "c.L[c.i - 1]", "'member indexer'"},
		{"SELECT * FROM c WHERE c.L[1 - 1] = 1", "SC2990", "c.L[1 - 1]", "'member indexer'"},
		{"SELECT * FROM c ORDER BY c[c.i]", "SC2990", "c[c.i]", "'member indexer'"},
		{"SELECT c.a[null] FROM c", "SC2990", "c.a[null]", "'member indexer'"},
		{"SELECT c[@none] FROM c", "SC2990", "c[@none]", "'member indexer'"},
		{"SELECT c.o.x, c.x FROM c", "SC2022", "x", "property name 'x' specified more than once."},
		{"SELECT c.x, c.o.x AS \"x\" FROM c", "SC2022", "\"x\"", "property name 'x'"},
		{"SELECT 1, 2, 3 AS '$1' FROM c", "SC2022", "'$1'", "property name '$1'"},
		{"SELECT c, c FROM c", "SC2022", "c", "property name 'c'"},
		{"SELECT {a: 1, b: {\"d\": 1, \"d\": 2}} FROM c", "SC2022", "\"d\"", "property name 'd'"},
		{"SELECT c.id FROM c JOIN c IN c.tags", "SC2021", "c",
			"The input set name or alias 'c' is specified more than once in the FROM clause."},
		{"SELECT t FROM c JOIN t IN c.a JOIN t IN c.b", "SC2021", "t", "'t' is specified more than once"},
		{"SELECT t FROM c JOIN t IN c.a WHERE EXISTS(SELECT 1 FROM t IN c.b)", "SC2021", "t", "'t' is"},
		{"SELECT s FROM (SELECT c.id FROM c) s JOIN (SELECT VALUE 1) AS s", "SC2021", "s", "'s' is"},
		{"SELECT * FROM c ORDER BY RANK FullTextScore(c.t, c.u)", "SC2241", "c.u",
			"The second through last arguments of the 'FullTextScore' function"},
		{"SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a', LOWER('B'))", "SC2241", "'a'",
			"must be literals"},
		{"SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a' || 'b')", "SC2241", "'a' || 'b'",
			"must be literals"},
		{"SELECT * FROM c ORDER BY RANK FullTextScore(c.t, ['a', 1])", "SC2241", "['a', 1]",
			"must be literals"},
		{"SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.t,'a'), RRF(FullTextScore(c.t,'a'),FullTextScore(c.u,'a')))", "SC2005", "RRF", "'RRF' is not"},
		{"SELECT TOP 3 * FROM c ORDER BY VectorDistance(c.v, [1,2]) ASC", "SC2210",
			"VectorDistance(c.v, [1,2]) ASC", "Specifying a sorting order (ASC or DESC) with VectorDistance"},
		{"SELECT TOP 3 * FROM c ORDER BY VectorDistance(c.v, [1,2]) DESC", "SC2210", "",
			"Specifying a sorting order"},
		{"SELECT * FROM c ORDER BY RANK FullTextScore(c.t,'a') DESC", "SC2222",
			"ORDER BY RANK FullTextScore(c.t,'a') DESC", "in the ORDER BY RANK clause is not allowed."},
		{"SELECT s.u FROM (SELECT UPPER(c.x) AS u FROM c) s ORDER BY s.u", "2206", "s.u",
			"could not be mapped to a document path"},
		{"SELECT s.x FROM (SELECT c.id FROM c) s ORDER BY s.zz", "2206", "s.zz", "could not be mapped"},
		{"SELECT U.a FROM (SELECT AVG(f.age) AS a FROM f GROUP BY f.n) AS U ORDER BY U.a", "2206", "U.a",
			"could not be mapped"},
	} {
		_, err := Prepare(c.text, nil, info)
		var e *queryerror.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		code := e.Code
		if e.Number != 0 {
			code = fmt.Sprint(e.Number)
		}
		at := string([]rune(c.text)[e.Start:e.End])
		if code != c.code || !strings.Contains(e.Message, c.message) || c.at != "" && at != c.at ||
			(c.code == "") != (e.Style == queryerror.Unplaced) {
			t.Errorf("%s: %s at %q: %v", c.text, code, at, err)
		}
	}
}

func TestErrorJSON(t *testing.T) {
	t.Parallel()
	_, err := Prepare("SELECT c.€, x,\n  y FROM c", nil, bind.ContainerInfo{})
	var e *queryerror.Error
	if !errors.As(err, &e) || e.Code != "SC1010" {
		t.Fatal(err)
	}
	_, err = Prepare("SELECT 'é', x,\n  y FROM c", nil, bind.ContainerInfo{})
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	want := `{"errors":[{"severity":"Error","location":{"start":12,"end":13},"code":"SC2001","message":"Identifier 'x' could not be resolved."},` +
		`{"severity":"Error","location":{"start":17,"end":18},"code":"SC2001","message":"Identifier 'y' could not be resolved."}]}`
	if e.JSON() != want || e.Line != 1 || e.Col != 13 || e.More[0].Line != 2 || e.More[0].Col != 3 {
		t.Errorf("%s\n%v", e.JSON(), e)
	}
	_, err = Prepare("SELECT @a", []bind.Parameter{{Name: "@a", Value: jsondoc.NullValue()}, {Name: "@a",
		Value: jsondoc.NullValue()}}, bind.ContainerInfo{})
	if !errors.As(err, &e) ||
		e.JSON() != `{"Errors":["Invalid query. Specified duplicate parameter name '@a'."]}` {
		t.Errorf("%v", err)
	}
	_, err = Prepare("SELECT * FROM c ORDER BY 1+1", nil, bind.ContainerInfo{})
	if !errors.As(err, &e) || !strings.Contains(e.JSON(), `"code":2206,`) {
		t.Errorf("%v", err)
	}
}

// TestPartitionKeyConditions checks which values of the partition key the conditions of a query allow, so
// that only their partitions are read.
func TestPartitionKeyConditions(t *testing.T) {
	t.Parallel()
	one := bind.ContainerInfo{PartitionPaths: []jsondoc.Path{jsondoc.PathOf("key")}}
	two := bind.ContainerInfo{PartitionPaths: []jsondoc.Path{jsondoc.PathOf("a"), jsondoc.PathOf("b", "c")}}
	for _, c := range []struct {
		info        bind.ContainerInfo
		where, want string
	}{
		{one, `r.key = "a"`, `["a"]`}, {one, `"a" = r["key"] AND r.x > 1`, `["a"]`}, {one, `r.key = @p`,
			`[7]`}, {one, `r.x = 1`, "any"},
		{one, `r.key > 1`, "any"}, {one, `r.key IN (1, 2, 1)`, `[1] [2]`}, {one, `r.key = 1 OR r.key = 2`,
			`[1] [2]`},
		{one, `r.key = 1 OR r.x = 2`, "any"}, {one, `r.key = 1 AND r.key = 2`, ""}, {one, `r.key`,
			`[true]`}, {one, `NOT r.key`, `[false]`},
		{one, `r.key = null`, `[null]`}, {one, `r.key = {}`, `[{}]`}, {one, `false`, ""}, {one,
			`r.key[0] = 1`, "any"},
		{one, `UPPER(r.key) = "A"`, "any"}, {one, `(r.key = 1 AND r.x = 2) OR (r.key = 3 AND r.y = 1)`,
			`[1] [3]`}, {one, `r.key != 1`, "any"},
		{one, `r.key = r.x`, "any"}, {one, `EXISTS(SELECT VALUE 1 WHERE r.key = 1)`, "any"}, {one,
			`r.key = undefined`, ""},
		{two, `r.a = 1`, `[1]`}, {two, `r.b.c = 1`, "any"}, {two, `r.a IN (1, 2) AND r.b.c = 'x'`,
			`[1,"x"] [2,"x"]`},
	} {
		p, err := Prepare("SELECT * FROM r WHERE "+c.where, []bind.Parameter{{Name: "@p",
			Value: jsondoc.NumberValue(7)}}, c.info)
		if err != nil {
			t.Fatal(err)
		}
		got := "any"
		if keys, ok := p.PinnedKeys(); ok {
			var texts []string
			for _, key := range keys {
				texts = append(texts, string(arrayOf(key).Raw()))
			}
			got = strings.Join(texts, " ")
		}
		if got != c.want {
			t.Errorf("%s pins %s, want %s", c.where, got, c.want)
		}
	}
	if p, err := Prepare("SELECT 1", nil, one); err != nil ||
		!slices.Equal([]bool{p.Streamable(), p.Pins.Known}, []bool{false, true}) {
		t.Errorf("a query without FROM: %v, %v", p, err)
	}
}

func TestStreamable(t *testing.T) {
	t.Parallel()
	info := defaultInfo(t)
	for text, want := range map[string]bool{
		"SELECT * FROM c": true, "SELECT VALUE udf.f(c.a) FROM c JOIN t IN c.tags WHERE t = 1": true,
		"SELECT c.id FROM (SELECT VALUE c FROM c) c": true,
		"SELECT TOP 1 * FROM c":                      false, "SELECT * FROM c ORDER BY c.a": false,
		"SELECT DISTINCT c.a FROM c": false, "SELECT COUNT(1) FROM c": false,
		"SELECT c.a FROM c GROUP BY c.a": false, "SELECT * FROM c OFFSET 0 LIMIT 1": false,
		"SELECT * FROM c ORDER BY VectorDistance(c.v, [1])":       false,
		"SELECT * FROM c ORDER BY RANK FullTextScore(c.v, 'a')":   false,
		"SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.a FROM c)": false,
		"SELECT VALUE s FROM (SELECT DISTINCT c.a FROM c) s":      false,
	} {
		p, err := Prepare(text, nil, info)
		if err != nil || p.Streamable() != want {
			t.Errorf("%s: %v, want %t", text, err, want)
		}
	}
}
