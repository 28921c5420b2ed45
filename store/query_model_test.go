package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/naivequery"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/internal/testdisk"
	"github.com/mayflydb/mayfly/query/syntax"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// indexPolicyComparisonFixture is a store with several containers that hold the same documents under
// different indexing policies, so that queries must have the same results in all of them.
type indexPolicyComparisonFixture struct {
	t      *testing.T
	ctx    context.Context
	r      *rand.Rand
	clock  *ttl.VirtualClock
	db     *store.DB
	d      *store.Database
	c      map[string]*store.Container // by policy
	bodies map[string]string           // of the documents, by id; the dead as well
	kind   string                      // of partition key
}

func newIndexPolicyComparisonFixture(t *testing.T, seed uint64, ranges int) *indexPolicyComparisonFixture {
	t.Helper()
	g := &indexPolicyComparisonFixture{t: t, ctx: context.Background(), r: rand.New(rand.NewPCG(seed, 0)),
		clock: ttl.NewManual(time.Unix(1_700_000_000, 0))}
	e, err := testdisk.New(t).Open(g.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if g.db, err = store.Open(g.ctx, e, store.Options{Clock: g.clock, Ranges: ranges, Lenient: true, ManualReaper: true}); err != nil {
		t.Fatal(err)
	}
	if g.d, err = g.db.CreateDatabase(g.ctx, "db", definition.Throughput{}); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *indexPolicyComparisonFixture) close() {
	g.t.Helper()
	checkClean(g.t, g.db)
	if err := g.db.Close(); err != nil {
		g.t.Error(err)
	}
}

func (g *indexPolicyComparisonFixture) spec(policy string) definition.ContainerSpec {
	g.t.Helper()
	key, ttl := `{"paths":["/pk"],"kind":"Hash","version":2}`, `,"defaultTtl":-1`
	switch g.kind {
	case metamorphic.V1:
		key = `{"paths":["/pk"],"kind":"Hash","version":1}`
	case metamorphic.Hierarchical:
		key = `{"paths":["/pk","/sub"],"kind":"MultiHash","version":2}`
	}
	if policy == metamorphic.NoIndex {
		ttl = ""
	}
	text := `{"id":"` + policy + `","partitionKey":` + key + ttl + `,"indexingPolicy":` +
		metamorphic.PolicyJSON(policy) + "}"
	spec, _, err := definition.ParseContainerSpec([]byte(text), true)
	if err != nil {
		g.t.Fatal(err)
	}
	return spec
}

// create replaces the test's containers by empty ones, one for each of the indexing policies with these
// names.
func (g *indexPolicyComparisonFixture) create(policies ...string) {
	g.t.Helper()
	for policy := range g.c {
		if err := g.d.DeleteContainer(g.ctx, policy, store.WriteOptions{}); err != nil {
			g.t.Fatal(err)
		}
	}
	g.c, g.bodies = map[string]*store.Container{}, map[string]string{}
	for _, policy := range policies {
		c, err := g.d.CreateContainer(g.ctx, g.spec(policy), definition.Throughput{})
		if err != nil {
			g.t.Fatal(err)
		}
		g.c[policy] = c
	}
}

// randomBody returns a random document with the given id, from which its partition key follows.
func randomBody(r *rand.Rand, id int) string {
	keys := []string{`"x"`, `"x"`, `"y"`, "null", "true", "false", "0", "1", "9007199254740993", ""}
	head := fmt.Sprintf(`{"id":"%d","sub":"s%d"`, id, id%2)
	if key := keys[id%len(keys)]; key != "" {
		head += `,"pk":` + key
	}
	if fields := metamorphic.RandomFields(r); fields != "{}" {
		return head + "," + fields[1:]
	}
	return head + "}"
}

func (g *indexPolicyComparisonFixture) put(body string) {
	g.t.Helper()
	for _, c := range g.c {
		it, _, err := c.Upsert(g.ctx, definition.PartitionKey{}, []byte(body), store.WriteOptions{})
		if err != nil {
			g.t.Fatal(err)
		}
		g.bodies[it.ID()] = body
	}
}

func (g *indexPolicyComparisonFixture) remove(id string) {
	g.t.Helper()
	for _, c := range g.c {
		if _, err := c.Delete(g.ctx, g.key(g.bodies[id]), id, store.WriteOptions{}); err != nil && !is(err, fault.CodeNotFound) {
			g.t.Fatal(err)
		}
	}
}

func (g *indexPolicyComparisonFixture) key(body string) definition.PartitionKey {
	values := []jsondoc.Value{jsondoc.Get([]byte(body), jsondoc.PathOf("pk"))}
	if g.kind == metamorphic.Hierarchical {
		values = append(values, jsondoc.Get([]byte(body), jsondoc.PathOf("sub")))
	}
	return definition.NewPartitionKey(values...)
}

// fill writes random documents, replaces and deletes some of them, and lets some expire.
func (g *indexPolicyComparisonFixture) fill() {
	n := 4 + g.r.IntN(24)
	for i := range n {
		g.put(randomBody(g.r, i))
	}
	for range g.r.IntN(n) {
		switch id := g.r.IntN(n); g.r.IntN(5) {
		case 0:
			g.remove(strconv.Itoa(id))
		case 1, 2:
			g.put(randomBody(g.r, id))
		default:
			g.clock.Advance(time.Second)
		}
	}
	g.kill(g.r.IntN(4))
}

// kill adds n documents that have expired but are not purged, and so have index entries. It omits the
// container without an index, in which documents cannot expire.
func (g *indexPolicyComparisonFixture) kill(n int) {
	noIndex := g.c[metamorphic.NoIndex]
	delete(g.c, metamorphic.NoIndex)
	for i := range n {
		g.put(strings.Replace(randomBody(g.r, 100+i), "{", `{"ttl":1,`, 1))
	}
	g.clock.Advance(time.Second)
	if noIndex != nil {
		g.c[metamorphic.NoIndex] = noIndex
	}
}

// queryScopes returns one scope of each kind: the container, ranges, partition keys and others.
func (g *indexPolicyComparisonFixture) queryScopes() []store.KeyOrRange {
	list := []store.KeyOrRange{{}, {}, {}, {Range: g.anyContainer().Ranges().Ranges[0].ID},
		{MinEPK: "10", MaxEPK: "2A"}, {MinEPK: "05C1",
			MaxEPK: "FF"}, {MinEPK: "30"}, {Partition: g.key(randomBody(g.r, 1))}}
	if g.kind == metamorphic.Hierarchical {
		list = append(list, store.KeyOrRange{Partition: pk("x")})
	}
	return list
}

func (g *indexPolicyComparisonFixture) anyContainer() *store.Container {
	for _, c := range g.c {
		return c
	}
	return nil
}

// documents returns the live documents of a scope without their system properties, and checks that they
// are the same in all containers.
func (g *indexPolicyComparisonFixture) documents(scope store.KeyOrRange) (docs []any) {
	g.t.Helper()
	first := ""
	for policy, c := range g.c {
		var list []any
		for o := (store.ListOptions{Scope: scope, MaxItems: -1}); ; {
			page, _, err := c.List(g.ctx, o)
			if err != nil {
				g.t.Fatal(err)
			}
			for _, it := range page.Items {
				list = append(list, metamorphic.WithoutSystem(decoded(g.t, it.AppendJSON(nil))))
			}
			if o.Continuation = page.Continuation; o.Continuation == "" {
				break
			}
		}
		if text := naivequery.Text(list); first == "" {
			first, docs = text, list
		} else if text != first {
			g.t.Fatalf("scope %+v: under the policy %s a list is\n%s\nunder another\n%s", scope, policy, text, first)
		}
	}
	return docs
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	v, err := naivequery.Decode(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// ask runs a query page by page and returns its rows, without system properties.
func (g *indexPolicyComparisonFixture) ask(c *store.Container, request store.QueryRequest) (rows []any,
	err error) {
	g.t.Helper()
	for n := 0; ; n++ {
		page, _, err := c.Query(g.ctx, request)
		if err == nil && n > 10_000 {
			err = fmt.Errorf("%d pages and no end", n)
		}
		if err != nil {
			return nil, err
		}
		for _, row := range page.Rows {
			rows = append(rows, metamorphic.WithoutSystem(decoded(g.t, row)))
		}
		if request.Continuation = page.Continuation; request.Continuation == "" {
			return rows, nil
		}
	}
}

// queryTestCase is a query with its expected result.
type queryTestCase struct {
	metamorphic.Query
	tree  *syntax.QueryTree
	scope store.KeyOrRange
	want  []any
	cross store.CrossPartitionMode
}

func (g *indexPolicyComparisonFixture) one(q metamorphic.Query, scope store.KeyOrRange,
	docs []any) queryTestCase {
	g.t.Helper()
	tree, err := syntax.Parse(q.Text)
	if err != nil {
		g.t.Fatalf("%s: %v", q.Text, err)
	}
	want, err := naivequery.Run(tree, q.Values(), docs)
	if err != nil {
		g.t.Fatalf("%s: %v", q.Text, err)
	}
	return queryTestCase{q, tree, scope, want, store.CrossPartitionMode(g.r.IntN(3))}
}

func (q *queryTestCase) request(page int) store.QueryRequest {
	return store.QueryRequest{Text: q.Text, Parameters: q.Parameters(), ListOptions: store.ListOptions{Scope: q.scope, MaxItems: page}}
}

// differs runs a query on the container with the indexing policy named policy, in pages of the given size. It
// returns how the result differs from the expected one, or "".
func (g *indexPolicyComparisonFixture) differs(policy string, q *queryTestCase, page int) string {
	g.t.Helper()
	request := q.request(page)
	request.Explain, request.Cross = g.r.IntN(16) == 0, q.cross
	got, err := g.ask(g.c[policy], request)
	if q.cross == store.CrossStream && is(err, fault.CodeCrossPartition) || q.cross == store.CrossRefuse && is(err, fault.CodeBadRequest) {
		request.Cross = store.CrossServe
		got, err = g.ask(g.c[policy], request)
	}
	if err != nil {
		return err.Error()
	}
	text, want := metamorphic.AnswerText(q.tree, got), metamorphic.AnswerText(q.tree, q.want)
	if text == want {
		return ""
	}
	return "got  " + text + "\nwant " + want
}

// reduce finds a small set of documents for which a query still has a wrong result, and reports it.
func (g *indexPolicyComparisonFixture) reduce(policy string, q *queryTestCase, page int) {
	g.t.Helper()
	ranges := len(g.anyContainer().Ranges().Ranges)
	small := newIndexPolicyComparisonFixture(g.t, 0, ranges)
	defer small.close()
	small.kind = g.kind
	ids := make([]string, 0, len(g.bodies))
	for id := range g.bodies {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	wrong := func(ids []string) string {
		small.create(policy)
		for _, id := range ids {
			small.put(g.bodies[id])
		}
		again := small.one(q.Query, q.scope, small.documents(q.scope))
		return small.differs(policy, &again, page)
	}
	for i := 0; i < len(ids); {
		if less := slices.Delete(slices.Clone(ids), i, i+1); wrong(less) != "" {
			ids = less
		} else {
			i++
		}
	}
	text := fmt.Sprintf("%s\nwith %v, page size %d, scope %+v, policy %s, %d ranges, %s", q.Text, q.Params, page, q.scope, policy, ranges, g.kind)
	if what := wrong(ids); what != "" {
		for _, id := range ids {
			text += "\n  " + g.bodies[id]
		}
		g.t.Errorf("%s\n%s", text, what)
	} else {
		g.t.Errorf("%s\n%s", text, g.differs(policy, q, page)) // it needs a past that the documents alone do not have
	}
}

// TestRandomQueries compares the results of random queries, for each indexing policy, number of ranges,
// scope and page size, with those of a simple evaluation of every document.
func TestRandomQueries(t *testing.T) {
	t.Run("with", func(t *testing.T) {
		for _, ranges := range []int{1, 3} {
			t.Run(fmt.Sprint("ranges=", ranges), func(t *testing.T) {
				t.Parallel()
				g := newIndexPolicyComparisonFixture(t, metamorphic.FirstSeed()+uint64(ranges), ranges)
				defer g.close()
				for n := range metamorphic.QueryDatasets {
					g.kind = []string{metamorphic.V2, metamorphic.V1, metamorphic.Hierarchical}[n%3]
					g.create(metamorphic.PolicyNames()...)
					g.fill()
					if g.agree(metamorphic.QueriesEach); t.Failed() {
						return
					}
				}
			})
		}
	})
}

// agree runs the given number of random queries under every indexing policy, whole and in pages, and compares
// their results with those of a reference implementation. It stops at the first query that differs.
func (g *indexPolicyComparisonFixture) agree(queries int) {
	g.t.Helper()
	known := map[string][]any{}
	for range queries {
		scope := pickOne(g.r, g.queryScopes())
		docs, ok := known[fmt.Sprint(scope)]
		if !ok {
			docs = g.documents(scope)
			known[fmt.Sprint(scope)] = docs
		}
		q := g.one(metamorphic.RandomQuery(g.r), scope, docs)
		paged := pickOne(g.r, metamorphic.PolicyNames())
		for _, policy := range metamorphic.PolicyNames() {
			sizes := []int{-1}
			if policy == paged {
				sizes = []int{-1, 1 + g.r.IntN(4)}
			}
			for _, page := range sizes {
				if g.differs(policy, &q, page) != "" {
					g.reduce(policy, &q, page)
					return
				}
			}
		}
	}
}

// TestQueriesOnManyDocuments checks random queries on more documents than there are recorded sets of
// property paths, and on more documents with one value than a page has rows. With -tags long there are
// also more than a query sorts or collects at a time.
func TestQueriesOnManyDocuments(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	g := newIndexPolicyComparisonFixture(t, 1, 1)
	defer g.close()
	g.create(metamorphic.DefaultPolicy, metamorphic.CompositePolicy)
	const n = manyDocuments
	for i := range n {
		body := fmt.Sprintf(`{"id":"%d","pk":"p%d","n":%d,"m":%d,"s":"%s%d","tags":[%d,%d]}`, i, i%3, i%7, i*7919%n, strings.Repeat("long", 33), i%9, i%4, i%5)
		if i < n/4 {
			body = strings.Replace(body, "{", fmt.Sprintf(`{"only%d":1,`, i), 1)
		}
		g.put(body)
	}
	docs := g.documents(store.KeyOrRange{})
	if len(docs) != n {
		t.Fatalf("%d documents", len(docs))
	}
	for _, text := range []string{
		fmt.Sprintf("SELECT VALUE c.id FROM c WHERE c.m >= 0 AND c.m < %d", n-100),
		fmt.Sprintf("SELECT VALUE c.id FROM c WHERE c.m > %d", n-100),
		"SELECT VALUE c.id FROM c WHERE c.n = 3 OR c.m > 100",
		fmt.Sprintf("SELECT VALUE c.id FROM c WHERE c.n = 3 AND c.m > %d ORDER BY c.m DESC", n/2),
		"SELECT VALUE c.id FROM c WHERE c.n IN (1, 2, 3, 4) ORDER BY c.m",
		"SELECT VALUE c.id FROM c ORDER BY c.s",
		"SELECT VALUE c.id FROM c ORDER BY c.n, c.s",
		"SELECT VALUE c.id FROM c WHERE c.n = 5 ORDER BY c.s DESC",
		"SELECT VALUE c.id FROM c ORDER BY c.n DESC, c.m",
		"SELECT VALUE c.id FROM c ORDER BY c.missing DESC",
		"SELECT VALUE c.id FROM c ORDER BY c.only77 DESC",
		"SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.only77) AND c.n < 3",
		"SELECT VALUE c.id FROM c WHERE IS_DEFINED(c.only77)",
		fmt.Sprintf("SELECT VALUE c.id FROM c ORDER BY c.s DESC OFFSET %d LIMIT 100", n-300),
		fmt.Sprintf("SELECT VALUE c.id FROM c ORDER BY c.n DESC, c.m OFFSET %d LIMIT 100", n-300),
		fmt.Sprintf("SELECT VALUE c.id FROM c WHERE c.m > 100 OFFSET %d LIMIT 50", n-300),
		fmt.Sprintf("SELECT TOP %d VALUE c.m FROM c ORDER BY c.n DESC", n-200),
		"SELECT VALUE COUNT(1) FROM c WHERE c.m > 3",
		"SELECT MIN(c.s) AS lo, MAX(c.m) AS hi FROM c",
		"SELECT c.n, COUNT(1) AS k, MAX(c.m) AS hi FROM c GROUP BY c.n",
		"SELECT DISTINCT VALUE c.s FROM c WHERE c.m > 20",
		"SELECT DISTINCT VALUE c.s FROM c ORDER BY c.s DESC",
		"SELECT c.id, t FROM c JOIN t IN c.tags WHERE t = 4",
		fmt.Sprintf(`SELECT VALUE c.id FROM c WHERE STARTSWITH(c.s, "longlong") AND c.m < %d ORDER BY c.m DESC`,
			n-n/7),
		"SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 4) AND c.n = 2",
		fmt.Sprintf(`SELECT VALUE c.id FROM c WHERE c.pk = "p1" AND (c.m BETWEEN 10 AND %d)`, n-n/7),
	} {
		q := g.one(metamorphic.Query{Text: text}, store.KeyOrRange{}, docs)
		for policy := range g.c {
			if what := g.differs(policy, &q, -1); what != "" {
				t.Errorf("%s\npolicy %s: %.400s", text, policy, what)
			}
		}
	}
}

func pickOne[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// TestQueriesResume checks that a query that continues after writes, expiries or changes of the indexing
// policy neither repeats nor omits rows of unchanged documents.
func TestQueriesResume(t *testing.T) {
	t.Parallel()
	for _, ranges := range []int{1, 3} {
		t.Run(fmt.Sprint("ranges=", ranges), func(t *testing.T) {
			g := newIndexPolicyComparisonFixture(t, metamorphic.FirstSeed()+uint64(ranges), ranges)
			defer g.close()
			resumed := 0
			for range metamorphic.QueryDatasets {
				g.create(pickOne(g.r, mortalPolicies()))
				g.fill()
				for range 3 {
					if resumed += g.resume(); t.Failed() {
						return
					}
				}
			}
			if resumed < metamorphic.QueryDatasets { // about three for each, by chance
				t.Errorf("queries went on after %d changes only", resumed)
			}
		})
	}
}

// resume runs one random query page by page with changes between the pages, and returns how often it
// continued after a change.
func (g *indexPolicyComparisonFixture) resume() (times int) {
	g.t.Helper()
	g.clock.Advance(time.Second) // what an earlier query has left to die
	docs := g.documents(store.KeyOrRange{})
	q := g.one(metamorphic.RandomRows(g.r), store.KeyOrRange{}, docs)
	touched := map[string]bool{}
	story := "" // what happened, for the report
	request := q.request(1 + g.r.IntN(3))
	var got []any
	for {
		page, _, err := g.anyContainer().Query(g.ctx, request)
		if err != nil {
			g.t.Fatalf("%s: %v", q.Text, err)
		}
		for _, row := range page.Rows {
			got = append(got, decoded(g.t, row))
			story += "\n  row " + string(row)
		}
		if request.Continuation = page.Continuation; request.Continuation == "" {
			break
		}
		if g.r.IntN(2) == 0 {
			story += g.disturb(touched)
			times++
		}
	}
	alone := func(rows []any) string {
		rows = slices.DeleteFunc(slices.Clone(rows), func(row any) bool { return touched[row.(map[string]any)["id"].(string)] })
		return naivequery.Text(rows)
	}
	if alone(got) != alone(q.want) {
		g.t.Errorf("%s\nwith %v, page size %d, %d ranges\ndocuments %s%s\ngot  %s\nwant %s", q.Text, q.Params, request.MaxItems,
			len(g.anyContainer().Ranges().Ranges), naivequery.Text(docs), story, alone(got), alone(q.want))
	}
	return times
}

// disturb changes a few documents, whose ids it adds to touched, and may advance the clock or change the
// indexing policy. It returns a description of what it has done.
func (g *indexPolicyComparisonFixture) disturb(touched map[string]bool) (story string) {
	g.t.Helper()
	for range 1 + g.r.IntN(2) {
		n := g.r.IntN(32)
		id, body := strconv.Itoa(n), randomBody(g.r, n)
		touched[id] = true
		if g.r.IntN(4) == 0 { // it will be gone a second later
			body = strings.Replace(body, "{", `{"ttl":1,`, 1)
		}
		if _, there := g.bodies[id]; there && g.r.IntN(3) == 0 {
			g.remove(id)
			body = "deleted"
		} else {
			g.put(body)
		}
		story += "\n  " + id + ": " + body
	}
	switch g.r.IntN(6) {
	case 0:
		g.clock.Advance(time.Second)
		story += "\n  a second passes"
	case 1:
		for name := range g.c {
			policy := pickOne(g.r, mortalPolicies())
			spec := g.spec(policy)
			spec.ID = name
			story += "\n  policy " + policy
			if _, err := g.d.ReplaceContainer(g.ctx, name, spec, store.WriteOptions{}); err != nil {
				g.t.Fatal(err)
			}
		}
	}
	return story
}

// mortalPolicies returns the names of the indexing policies with which documents can expire: all with an
// index.
func mortalPolicies() []string {
	return slices.DeleteFunc(metamorphic.PolicyNames(),
		func(p string) bool { return p == metamorphic.NoIndex })
}
