package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestSDKRequirements checks, in one list, everything that is known to break an SDK. Each row sends requests
// as the SDKs do and checks the parts of the responses that they depend on. Most rows have longer tests
// elsewhere.
func TestSDKRequirements(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name string
		run  func(*testing.T)
	}{
		{"01_locations_are_where_the_client_came_from", checkLocations},
		{"02_both_lists_of_locations", checkLocationLists},
		{"03_query_engine_configuration_is_json_text", checkQueryEngine},
		{"04_consistency_policy", checkConsistencyPolicy},
		{"05_no_empty_continuation", checkNoEmptyContinuation},
		{"06_pkranges_end_in_304", checkRangesUnchanged},
		{"07_pkranges_have_an_etag", checkRangesETag},
		{"08_pkranges_cover_everything", checkRangesCover},
		{"09_pkranges_by_rid", checkRangesByRID},
		{"10_change_feed_ends_in_304", checkFeedEnds},
		{"11_304_of_the_change_feed_has_an_etag", checkFeedPosition},
		{"12_error_bodies_are_json", checkErrorBodies},
		{"13_errors_have_their_length", checkErrorLength},
		{"14_no_retry_for_lack_of_rights", checkAuthSubstatus},
		{"15_404_1002_for_sessions_alone", checkSessionSubstatus},
		{"16_400_1001_for_partition_keys_alone", checkKeySubstatus},
		{"17_writes_have_a_session_token", checkWriteTokens},
		{"18_session_tokens_are_vectors", checkTokenForm},
		{"19_no_region_parts_in_tokens", checkNoRegions},
		{"20_content_path_is_the_container", checkContentPath},
		{"21_alt_content_path_and_self", checkAltContentPath},
		{"22_layout_of_rids", checkRIDLayout},
		{"23_etags_have_quotes", checkETags},
		{"24_rows_are_answered_by_rows", checkRowAnswers},
		{"25_as_many_results_as_operations", checkResultCount},
		{"26_207_on_partial_failure", checkMultiStatus},
		{"27_minimal_return", checkMinimalReturn},
		{"28_integers_stay_integers", checkIntegers},
		{"29_no_null_arrays_in_plans", checkPlanArrays},
		{"30_plans_as_every_client_asks", checkPlanRequests},
		{"31_rewritten_queries_run", checkRewritten},
		{"32_item2_of_min_and_max", checkItem2},
		{"33_1004_has_the_plan", checkCrossPlan},
		{"34_continuations_are_short", checkTokenLength},
		{"35_slashes_do_not_count", checkSlashes},
		{"36_escapes_in_ids", checkEscapes},
		{"37_clocks_may_differ", checkSkew},
		{"38_containers_show_their_partition_key", checkPartitionKeyShown},
		{"39_containers_show_their_indexing_policy", checkIndexingPolicyShown},
		{"40_offers_end_in_a_slash", checkOfferLinks},
		{"41_intended_container", checkIntended},
		{"42_429_tells_when_to_come_back", checkRetryAfter},
		{"43_charges", checkCharges},
		{"44_item_counts", checkItemCounts},
		{"45_head_and_options", checkHeadAndOptions},
	}
	for i, row := range rows {
		if !strings.HasPrefix(row.name, fmt.Sprintf("%02d_", i+1)) {
			t.Errorf("row %d is named %s", i+1, row.name)
		}
		t.Run(row.name, row.run)
	}
}

// checked returns a test server that has a container c, a user u, and seven items in several logical
// partitions.
func checked(t *testing.T, change ...func(*serverUnderTestOptions)) *serverUnderTest {
	w := smallWorld(t, change...)
	w.fill(6, 3)
	return w
}

// locations sends GET to url, which must be that of the account, and returns the first writable and the
// first readable endpoint in the response.
func (w *serverUnderTest) locations(url string) (endpoints []string) {
	w.t.Helper()
	r := httptest.NewRequest("GET", url, nil)
	w.sign(r)
	a := w.send(r).want(200)
	for _, list := range []string{"writableLocations", "readableLocations"} {
		endpoints = append(endpoints, a.at(list+".0.databaseAccountEndpoint").Str)
	}
	return endpoints
}

func checkLocations(t *testing.T) {
	w := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.Hosts = []string{"db.example"} })
	for _, url := range []string{"http://db.example:9443/", "https://db.example:9443/", "http://127.0.0.1/",
		"https://[::1]:8081/"} {
		if got := w.locations(url); got[0] != url || got[1] != url {
			t.Errorf("a client of %s is sent to %q", url, got)
		}
	}
	fixed := newServerUnderTest(t,
		func(s *serverUnderTestOptions) { s.server.Advertise = "https://public.example:444" })
	if got := fixed.locations("http://127.0.0.1:8081/"); got[0] != "https://public.example:444/" ||
		got[1] != got[0] {
		t.Errorf("advertised is %q", got)
	}
}

func checkLocationLists(t *testing.T) {
	a := newServerUnderTest(t).do("GET", "/", "").want(200).has("enableMultipleWriteLocations",
		"false").has("enablePerPartitionFailoverBehavior", "false").
		has("thinClientWritableLocations", "").has("thinClientReadableLocations", "")
	write, read := a.at("writableLocations"), a.at("readableLocations")
	if !write.IsArray() || len(write.Array()) != 1 || write.Raw != read.Raw || write.Get("0.name").Str == "" {
		t.Errorf("writable %s, readable %s", write.Raw, read.Raw)
	}
	for _, policy := range []string{"userReplicationPolicy", "systemReplicationPolicy", "readPolicy"} {
		if !a.at(policy).IsObject() {
			t.Errorf("%s is %s", policy, a.at(policy).Raw)
		}
	}
}

func checkQueryEngine(t *testing.T) {
	conf := newServerUnderTest(t).do("GET", "/", "").want(200).at("queryEngineConfiguration")
	if conf.Type != gjson.String || !gjson.Valid(conf.Str) ||
		gjson.Get(conf.Str, "maxSqlQueryInputLength").Int() != 524288 {
		t.Errorf("%s", conf.Raw)
	}
	// Without these the planner that .NET brings along refuses full-text functions.
	for _, flag := range []string{"queryEnableFullText", "queryEnableFullTextPreviewFeatures"} {
		if !gjson.Get(conf.Str, flag).Bool() {
			t.Errorf("%s is not set: %s", flag, conf.Raw)
		}
	}
}

func checkConsistencyPolicy(t *testing.T) {
	newServerUnderTest(t).do("GET", "/", "").want(200).has("userConsistencyPolicy.defaultConsistencyLevel",
		`"Session"`)
	strict := newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.Consistency = "strong" })
	strict.do("GET", "/", "").want(200).has("userConsistencyPolicy.defaultConsistencyLevel", `"Strong"`)
}

// everyFeed lists feeds and queries over all kinds of resources, with the number of rows that each has on the
// test server that the function checked returns.
var everyFeed = []struct {
	key, path, query string
	rows             int
}{
	{"Databases", "/dbs", "SELECT * FROM c", 1},
	{"DocumentCollections", colls, "SELECT * FROM c", 1},
	{"Offers", "/offers", "SELECT * FROM c", 1},
	{"Users", users, "SELECT * FROM c", 1},
	{"Permissions", users + "/u/permissions", "SELECT * FROM c", 0},
	{"ClientEncryptionKeys", keys, "SELECT * FROM c", 0},
	{"StoredProcedures", coll + "/sprocs", "SELECT * FROM c", 0},
	{"Triggers", coll + "/triggers", "SELECT * FROM c", 0},
	{"UserDefinedFunctions", coll + "/udfs", "SELECT * FROM c", 0},
	{"Conflicts", coll + "/conflicts", "SELECT * FROM c", 0},
	{"PartitionKeyRanges", coll + "/pkranges", "", 4},
	{"Documents", docs, "SELECT * FROM c", 7},
	{"Documents", docs, "SELECT * FROM c ORDER BY c.id DESC", 7},
	{"Documents", docs, "SELECT DISTINCT c.pk FROM c", 4},
	{"Documents", docs, "SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk", 4},
	{"Documents", docs, "SELECT VALUE COUNT(1) FROM c", 1},
	{"Documents", docs, "SELECT TOP 2 * FROM c", 2},
	{"Documents", docs, "SELECT * FROM c WHERE false", 0},
}

// eachFeed reads each entry of everyFeed, as a list and as a query, and calls fn with the response, the
// name of the array in its body, and the expected number of rows. An entry that is only a query is not
// listed.
func (w *serverUnderTest) eachFeed(fn func(a *testResponse, key string, rows int), headers ...string) {
	w.t.Helper()
	listed := map[string]bool{}
	for _, f := range everyFeed {
		if !listed[f.path] {
			listed[f.path] = true
			if f.path != docs || f.rows == 7 {
				fn(w.do("GET", f.path, "", headers...).want(200), f.key, f.rows)
			}
		}
		if f.query != "" {
			fn(w.do("POST", f.path, queryBody(f.query, ""),
				queryHeaders(append(headers, served...)...)...).want(200), f.key, f.rows)
		}
	}
}

func checkNoEmptyContinuation(t *testing.T) {
	w := checked(t, ranges(1)) // of several each has a page of its own
	w.eachFeed(func(a *testResponse, key string, rows int) {
		if n := len(a.at(key).Array()); n != rows && key != "PartitionKeyRanges" {
			t.Errorf("%s: %d rows, want %d: %s", a.what, n, rows, a.body)
		}
		a.head("x-ms-continuation", "")
	}, "x-ms-continuation", "") // some clients send an empty one, too
	more := 0
	w = checked(t, ranges(4))
	w.eachFeed(func(a *testResponse, key string, rows int) {
		if n := len(a.at(key).Array()); n < rows {
			if more++; a.header.Get("X-Ms-Continuation") == "" {
				t.Errorf("%s: %d rows of %d and no continuation", a.what, n, rows)
			}
		}
	}, "x-ms-max-item-count", "1")
	if more < 5 {
		t.Errorf("%d feeds were cut", more)
	}
}

// rangeLoop reads the partition key ranges from an etag until the response is 304, as the .NET and Java
// SDKs do. It returns the ids of each page and the last etag.
func (w *serverUnderTest) rangeLoop(path, etag string) (pages []string, last string) {
	w.t.Helper()
	for len(pages) < 5 {
		headers := []string{"A-IM", "Incremental Feed", "x-ms-max-item-count", "-1"}
		if etag != "" {
			headers = append(headers, "If-None-Match", etag)
		}
		a := w.do("GET", path, "", headers...)
		if etag = a.header.Get("Etag"); a.code == http.StatusNotModified {
			return pages, etag
		}
		pages = append(pages, a.want(200).head("x-ms-continuation", "").ids("PartitionKeyRanges"))
	}
	w.t.Fatalf("no 304 after the pages %q", pages)
	return nil, ""
}

func checkRangesUnchanged(t *testing.T) {
	w := checked(t, ranges(4))
	pages, etag := w.rangeLoop(coll+"/pkranges", "")
	if !slices.Equal(pages, []string{"0 1 2 3"}) {
		t.Errorf("pages %q", pages)
	}
	w.do("POST", splitPath, `{"range":"1"}`).want(200)
	if pages, _ = w.rangeLoop(coll+"/pkranges", etag); !slices.Equal(pages, []string{"4 5"}) {
		t.Errorf("after a split: %q", pages)
	}
}

func checkRangesETag(t *testing.T) {
	w := checked(t)
	a := w.do("GET", coll+"/pkranges", "").want(200)
	etag := a.header.Get("Etag")
	if len(etag) < 3 || etag[0] != '"' {
		t.Errorf("etag %q", etag)
	}
	w.do("GET", coll+"/pkranges", "", "A-IM", "Incremental Feed", "If-None-Match",
		etag).want(304).head("etag", etag).head("x-ms-item-count", "0")
	w.do("POST", splitPath, `{"range":"0"}`).want(200)
	if now := w.do("GET", coll+"/pkranges", "").want(200).header.Get("Etag"); now == etag || now == "" {
		t.Errorf("etag %q before a split, %q after it", etag, now)
	}
}

// covers checks that a container has n partition ranges that together cover "" to "FF" without gaps.
func (w *serverUnderTest) covers(path string, n int) {
	w.t.Helper()
	list := w.do("GET", path+"/pkranges", "").want(200).at("PartitionKeyRanges").Array()
	at := ""
	slices.SortFunc(list, func(a, b gjson.Result) int {
		return strings.Compare(a.Get("minInclusive").Str, b.Get("minInclusive").Str)
	})
	for _, r := range list {
		low, high := r.Get("minInclusive"), r.Get("maxExclusive")
		if low.Type != gjson.String || low.Str != at || high.Str <= at || !r.Get("parents").IsArray() ||
			r.Get("status").Str != "online" {
			w.t.Errorf("%s: behind %q comes %s", path, at, r.Raw)
		}
		at = high.Str
	}
	if len(list) != n || at != "FF" {
		w.t.Errorf("%s: %d ranges up to %q, want %d", path, len(list), at, n)
	}
}

func checkRangesCover(t *testing.T) {
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	for name, key := range map[string]string{
		"v1": `{"paths":["/pk"],"kind":"Hash","version":1}`,
		"v2": `{"paths":["/pk"],"kind":"Hash","version":2}`,
		"h":  `{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}`,
	} {
		for _, n := range []int{1, 2, 5} {
			id := name + strconv.Itoa(n)
			w.do("POST", colls, `{"id":"`+id+`","partitionKey":`+key+`}`, "x-mayfly-ranges",
				strconv.Itoa(n)).want(201)
			w.covers(colls+"/"+id, n)
			w.do("POST", "/_mayfly"+colls+"/"+id+"/split", `{"range":"0","at":"05"}`).want(200)
			w.covers(colls+"/"+id, n+1)
		}
	}
}

func checkRangesByRID(t *testing.T) {
	w := checked(t, ranges(4))
	database, container := w.do("GET", "/dbs/d", "").at("_rid").Str, w.do("GET", coll, "").at("_rid").Str
	// The signature is over the container's rid alone, in lower case.
	a := w.do("GET", "/dbs/"+database+"/colls/"+container+"/pkranges", "").want(200).has("_rid",
		`"`+container+`"`)
	if got := a.ids("PartitionKeyRanges"); got != "0 1 2 3" {
		t.Errorf("ranges %q", got)
	}
	w.do("GET", "/dbs/"+database+"/colls/"+container+"/docs/i", "", pk(`["a"]`)...).fails(400, 0,
		"resource id")
	other := []byte(container)
	other[8] = 'B'
	w.do("GET", "/dbs/"+database+"/colls/"+string(other)+"/pkranges", "").fails(404, 1003, "")
}

// feedScopes returns the request headers for the ways in which clients divide a change feed: the whole
// container, one partition key, one range, and a part of a range.
func feedScopes() [][]string {
	return [][]string{nil, pk(`["key1"]`), rangeHeader("2"), rangeHeader("1", "x-ms-start-epk", "10",
		"x-ms-end-epk", "18", "x-ms-read-key-type", "EffectivePartitionKeyRange")}
}

func checkFeedEnds(t *testing.T) {
	w := newServerUnderTest(t, ranges(4))
	w.container("")
	for _, scope := range feedScopes() {
		w.do("GET", docs, "", incremental(scope...)...).want(304)
	}
	w.fill(20, 10)
	for i, scope := range feedScopes() {
		pages, etag := w.drain(docs, incremental(append(scope, "x-ms-max-item-count", "2")...)...)
		if ids := strings.Fields(strings.Join(pages, " ")); i == 0 && len(ids) != 20 || i == 1 &&
			len(ids) != 2 {
			t.Errorf("scope %v: %q", scope, pages)
		}
		w.do("GET", docs, "", incremental(append(scope, "If-None-Match", etag)...)...).want(304)
	}
}

func checkFeedPosition(t *testing.T) {
	w := newServerUnderTest(t, ranges(4))
	w.container("")
	w.fill(20, 10)
	for _, scope := range feedScopes() {
		_, etag := w.drain(docs, incremental(scope...)...)
		again := w.do("GET", docs, "", incremental(append(scope, "If-None-Match", etag)...)...).want(304)
		if got := again.header.Get("Etag"); got != etag || len(etag) < 3 {
			t.Errorf("scope %v: the position %q becomes %q", scope, etag, got)
		}
		now := w.do("GET", docs, "",
			incremental(append(scope, "If-None-Match", "*")...)...).want(304).header.Get("Etag")
		w.do("POST", docs, `{"id":"new","pk":"key1"}`, append(pk(`["key1"]`), "x-ms-documentdb-is-upsert",
			"true")...)
		for _, from := range []string{etag, now} {
			a := w.do("GET", docs, "", incremental(append(scope, "If-None-Match", from)...)...)
			whole := scope == nil || scope[0] == pk("")[0]
			if got := a.ids("Documents"); whole && got != "new" || !whole && got != "" && got != "new" {
				t.Errorf("scope %v from %s: %d %q", scope, from, a.code, got)
			}
		}
	}
}
