package bench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// queryShape is a kind of query that the benchmark measures. It is run with queryTurns different values,
// one after the other.
type queryShape struct {
	name string
	text string
	with queryParametersFunc // nil: the query has no parameters
	// partition returns the partition key to which the k-th run is restricted, sent as a header; if it is
	// nil, the query covers the whole container.
	partition func(l valueDistribution, k int) string
	page      int                   // maximum number of rows of the only page read; 0: all pages are read
	growth    *measurementThreshold // limit for the largest set compared with the smallest one
}

// queryParametersFunc returns the parameters for the k-th run of a query, which differ from run to run so
// that a query does not read the same documents each time.
type queryParametersFunc func(l valueDistribution, k int) []store.QueryParameter

// served returns the limit for queries that use an index and whose result has the same size in any set: on
// the largest set they may take at most 1.5 times the CPU time of the smallest.
func served() *measurementThreshold { return ratioAtMost(1.5) }

// last returns a function that sets @from to the number of documents minus count, so that c.n >= @from is
// true for count documents, in a set of any size.
func last(count int) queryParametersFunc {
	return func(l valueDistribution, _ int) []store.QueryParameter {
		return []store.QueryParameter{parameter("@from", number(l.docs-count))}
	}
}

// one returns a function that makes the parameter @v for the k-th run of a query: the text format with the
// number of a small group of documents in it. The group changes from run to run.
func one(format string) queryParametersFunc {
	return func(l valueDistribution, k int) []store.QueryParameter {
		return []store.QueryParameter{parameter("@v",
			jsondoc.StringValue(fmt.Sprintf(format, l.askedFew(k))))}
	}
}

// cat returns the parameter @cat of the k-th run: one of the hundred values of the property cat.
func cat(_ valueDistribution, k int) []store.QueryParameter {
	return []store.QueryParameter{parameter("@cat", jsondoc.StringValue(fmt.Sprintf("cat-%02d", k*7%100)))}
}

// all returns a function that returns the parameters of all functions in list together.
func all(list ...queryParametersFunc) queryParametersFunc {
	return func(l valueDistribution, k int) (joined []store.QueryParameter) {
		for _, v := range list {
			joined = append(joined, v(l, k)...)
		}
		return joined
	}
}

// spread returns the ids of count documents, evenly distributed over the set. Another k gives other
// documents; k is the number of the query's run.
func spread(l valueDistribution, k, count int) (list []jsondoc.Value) {
	for j := range count {
		list = append(list, jsondoc.StringValue(newDocument((l.asked(k)+j*(l.docs/count)+j)%l.docs).id))
	}
	return list
}

// inIDs returns the kind of query that selects documents by IN with a list of count ids, each of them a
// parameter.
func inIDs(count int) queryShape {
	name := func(j int) string { return "@i" + strconv.Itoa(j) }
	var names []string
	for j := range count {
		names = append(names, name(j))
	}
	return queryShape{name: fmt.Sprintf("IN %d ids", count), growth: served(),
		text: `SELECT c.id FROM c WHERE c.id IN (` + strings.Join(names, ", ") + `)`,
		with: func(l valueDistribution, k int) (list []store.QueryParameter) {
			for j, id := range spread(l, k, count) {
				list = append(list, parameter(name(j), id))
			}
			return list
		}}
}

// ids returns the parameter @ids of the k-th run: an array of the ids of 100 documents.
func ids(l valueDistribution, k int) []store.QueryParameter {
	var list []string
	for _, id := range spread(l, k, 100) {
		list = append(list, strconv.Quote(id.Str()))
	}
	return []store.QueryParameter{parameter("@ids", jsondoc.Of([]byte("["+strings.Join(list, ",")+"]")))}
}

// shapes returns the queries that the benchmark measures over sets of generated documents.
func shapes() (list []queryShape) {
	for _, some := range [][]queryShape{pointShapes(), partitionShapes(), rangeShapes(), orderShapes(),
		textShapes(), arrayShapes(), countShapes(), groupShapes(), extremeShapes()} {
		list = append(list, some...)
	}
	return list
}

func pointShapes() []queryShape {
	return []queryShape{
		{name: "id =", text: `SELECT * FROM c WHERE c.id = @id`, growth: served(),
			with: func(l valueDistribution, k int) []store.QueryParameter {
				return []store.QueryParameter{parameter("@id",
					jsondoc.StringValue(newDocument(l.asked(k)).id))}
			}},
		{name: "= (100)", text: `SELECT c.id, c.name FROM c WHERE c.address.city = @v`,
			with: one("city%06d"), growth: served()},
		inIDs(100), inIDs(2001),
		{name: "ARRAY_CONTAINS(100 ids, id)", text: `SELECT c.id FROM c WHERE ARRAY_CONTAINS(@ids, c.id)`,
			with: ids, growth: served()},
		{name: "three equalities (25 %, 10 %, 100)", growth: served(), with: one("city%06d"),
			text: `SELECT c.id FROM c WHERE c.status = 'open' AND c.heads = true AND c.address.city = @v`},
		{name: "three equalities (25 %, 1 %, 10 %)", with: cat,
			text: `SELECT c.id FROM c WHERE c.status = 'open' AND c.cat = @cat AND c.ten = 3`},
		{name: "two equalities with nothing in common (50 %)",
			text: `SELECT VALUE c.id FROM c WHERE c.heads = true AND c.tails = true`},
		{name: "OR of two paths", text: `SELECT c.id FROM c WHERE c.address.city = @v OR c.seq >= @from`,
			with: all(one("city%06d"), last(20)), growth: served()},
		{name: "IS_DEFINED (rare)", text: `SELECT c.id FROM c WHERE IS_DEFINED(c.rare)`, growth: served()},
		{name: "IS_NUMBER (rare)", text: `SELECT c.id FROM c WHERE IS_NUMBER(c.rare)`, growth: served()},
		{name: "!= (75 %), COUNT", text: `SELECT VALUE COUNT(1) FROM c WHERE c.status != 'open'`},
		{name: "NOT(<), COUNT", text: `SELECT VALUE COUNT(1) FROM c WHERE NOT(c.n < @from)`, with: last(100)},
		{name: "NOT IS_DEFINED, COUNT", text: `SELECT VALUE COUNT(1) FROM c WHERE NOT IS_DEFINED(c.rare)`},
		{name: "a + 1 =", text: `SELECT c.id FROM c WHERE c.seq + 1 = @from`, with: last(100)},
		{name: "a = b", text: `SELECT c.id FROM c WHERE c.n = c.seq`},
		{name: "LOWER(a) =", text: `SELECT c.id FROM c WHERE LOWER(c.address.city) = @v`,
			with: one("city%06d")},
		{name: "object =", text: `SELECT c.id FROM c WHERE c.address = {"city": @v}`, with: one("city%06d")},
		{name: "scan, property not indexed", text: `SELECT VALUE c.id FROM c WHERE c.weight = -1`},
	}
}

// partitionShapes returns queries of one partition. The request names the partition key in a header, as
// SDKs do, and not in a condition.
func partitionShapes() []queryShape {
	latest, first := `SELECT * FROM c ORDER BY c.ts DESC`, `SELECT * FROM c ORDER BY c.ts`
	return []queryShape{
		{name: "pk header + ORDER BY, 10, active", text: first, partition: active, page: 10,
			growth: served()},
		{name: "pk header + ORDER BY DESC, 10, active", text: latest, partition: active, page: 10,
			growth: served()},
		{name: "pk header + ORDER BY DESC, 10, quiet", text: latest, partition: inQuiet, page: 10,
			growth: served()},
		{name: "pk header + ORDER BY DESC, 10, quiet, 1 %", text: latest, partition: inOld, page: 10,
			growth: served()},
		{name: "pk header + ORDER BY DESC, 10, tenth of all", text: latest, partition: inBig, page: 10,
			growth: served()},
		{name: "pk header + ORDER BY _ts DESC, 10, active", text: `SELECT * FROM c ORDER BY c._ts DESC`,
			partition: active, page: 10, growth: served()},
		{name: "pk header + ORDER BY _ts DESC, 10, quiet", text: `SELECT * FROM c ORDER BY c._ts DESC`,
			partition: inQuiet, page: 10, growth: served()},
		{name: "pk header + WHERE pk = + ORDER BY, 10", partition: active, page: 10, growth: served(),
			text: `SELECT * FROM c WHERE c.pk = @v ORDER BY c.ts`, with: one("p%06d")},
		{name: "pk header, COUNT(1)", text: `SELECT VALUE COUNT(1) FROM c`, partition: active,
			growth: served()},
		{name: "pk header, MAX", text: `SELECT VALUE MAX(c.n) FROM c`, partition: active, growth: served()},
		{name: "pk header + range (100)", text: `SELECT c.id FROM c WHERE c.n >= @from`, with: last(100),
			partition: inBig, growth: served()},
	}
}

func rangeShapes() []queryShape {
	return []queryShape{
		{name: "range (100)", text: `SELECT c.id FROM c WHERE c.n >= @from`, with: last(100),
			growth: served()},
		{name: "two ranges, wide first", text: `SELECT c.id FROM c WHERE c.n > 1 AND c.seq >= @from`,
			with: last(50), growth: served()},
		{name: "two ranges, narrow first", text: `SELECT c.id FROM c WHERE c.seq >= @from AND c.n > 1`,
			with: last(50), growth: served()},
		{name: "= (25 %) + range, no composite", with: last(50), growth: served(),
			text: `SELECT c.id FROM c WHERE c.status = 'open' AND c.seq >= @from`},
		{name: "= (25 %) + range, composite", with: last(50), growth: served(),
			text: `SELECT c.id FROM c WHERE c.status = 'open' AND c.n >= @from`},
		{name: "= (25 %) + range, composite, ORDER BY", with: last(50), growth: served(),
			text: `SELECT c.id FROM c WHERE c.status = 'open' AND c.n >= @from ORDER BY c.n`},
		{name: "range + ORDER BY same path", with: last(100), growth: served(),
			text: `SELECT c.id FROM c WHERE c.n >= @from ORDER BY c.n`},
		{name: "range + ORDER BY other path", with: last(100), growth: served(),
			text: `SELECT c.id FROM c WHERE c.n >= @from ORDER BY c.ts`},
	}
}

func orderShapes() []queryShape {
	return []queryShape{
		{name: "ORDER BY, 100", text: `SELECT * FROM c ORDER BY c.n`, page: 100, growth: served()},
		{name: "ORDER BY OFFSET 5 % LIMIT 10", text: `SELECT c.id FROM c ORDER BY c.n OFFSET @skip LIMIT 10`,
			with: skip(5)},
		{name: "ORDER BY OFFSET 75 % LIMIT 10", text: `SELECT c.id FROM c ORDER BY c.n OFFSET @skip LIMIT 10`,
			with: skip(75)},
		{name: "OFFSET 75 % LIMIT 10", text: `SELECT c.id FROM c OFFSET @skip LIMIT 10`, with: skip(75)},
		{name: "= (25 %) ORDER BY other, 100", page: 100, growth: served(),
			text: `SELECT c.id FROM c WHERE c.status = 'open' ORDER BY c.ts`},
		{name: "= (1 %) ORDER BY other, 100", text: `SELECT c.id FROM c WHERE c.cat = @cat ORDER BY c.n`,
			with: cat, page: 100},
		{name: "= (1 %) ORDER BY other, 100, composite", with: cat, page: 100, growth: served(),
			text: `SELECT c.id FROM c WHERE c.cat = @cat ORDER BY c.ts`},
	}
}

// skip returns a function that returns the parameter @skip: the given percentage of the number of
// documents, which the query skips by OFFSET.
func skip(percent int) queryParametersFunc {
	return func(l valueDistribution, _ int) []store.QueryParameter {
		return []store.QueryParameter{parameter("@skip", number(l.docs*percent/100))}
	}
}
