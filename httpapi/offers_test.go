package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

func TestOffers(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	c := w.container("")
	find := func(query, value string) *testResponse {
		t.Helper()
		return w.do("POST", "/offers", `{"query":"`+query+`","parameters":[{"name":"@v","value":"`+value+
			`"}]}`, queryHeaders()...).want(200)
	}
	offer := find("SELECT * FROM c WHERE c.offerResourceId = @v", c.at("_rid").Str).has("_count",
		"1").has("_rid", `""`)
	find("SELECT * FROM root r WHERE r.resource=@v", c.at("_self").Str).has("_count", "1")
	find(`SELECT * from root where root.resource = \"`+c.at("_self").Str+`\"`, "").has("_count", "1")
	find("SELECT * FROM c WHERE c.offerResourceId = @v", "none").has("_count", "0")

	id := offer.at("Offers.0.id").Str
	read := w.do("GET", "/offers/"+id, "").want(200).has("_rid", `"`+id+`"`).has("_self", `"offers/`+id+`/"`).
		has("resource", c.at("_self").Raw).has("offerResourceId", c.at("_rid").Raw).has("offerVersion",
		`"V2"`).
		has("content.offerThroughput", "400").has("content.offerAutopilotSettings", "").
		head("x-ms-offer-replace-pending", "false").head("x-ms-cosmos-min-throughput", "400")
	read.head("etag", read.at("_etag").Str)

	body := func(content string) string {
		return `{"id":"` + id + `","_rid":"` + id + `","offerVersion":"V2","resource":"x","content":` +
			content + `}`
	}
	w.do("PUT", "/offers/"+id, body(`{"offerThroughput":600}`), "If-Match", `"other"`).fails(412, 0,
		"pre-condition")
	w.do("PUT", "/offers/"+id, body(`{"offerThroughput":500}`), "If-Match",
		offer.at("Offers.0._etag").Str).want(200).has("content.offerThroughput", "500").
		head("x-ms-offer-replace-pending", "false")
	for _, bad := range []string{`{"offerThroughput":399}`, `{"offerThroughput":450}`,
		`{"offerThroughput":"500"}`, `{"offerThroughput":1e12}`,
		`{"offerThroughput":-400}`, `{"offerThroughput":0}`, `{"offerThroughput":500.5}`, `{}`, `null`, `{"offerAutopilotSettings":{}}`, `{"offerAutopilotSettings":{"maxThroughput":4000}}`} {
		w.do("PUT", "/offers/"+id, body(bad)).fails(400, 0, "")
	}
	w.do("PUT", "/offers/"+id, `{"id":"other","content":{"offerThroughput":600}}`).fails(400, 0, "id")
	w.do("GET", "/offers/"+id, "").want(200).has("content.offerThroughput", "500")

	w.do("PUT", "/offers/"+id, body(`{"offerThroughput":500}`), "x-ms-cosmos-migrate-offer-to-autopilot",
		"true").want(200).
		has("content.offerAutopilotSettings.maxThroughput", "1000").head("x-ms-cosmos-min-throughput", "1000")
	w.do("PUT", "/offers/"+id,
		body(`{"offerThroughput":1000,"offerAutopilotSettings":{"maxThroughput":6000}}`)).want(200).
		has("content.offerAutopilotSettings.maxThroughput", "6000")
	w.do("PUT", "/offers/"+id, body(`{"offerThroughput":700}`)).fails(400, 0, "")
	w.do("PUT", "/offers/"+id, body(`{"offerThroughput":700}`),
		"x-ms-cosmos-migrate-offer-to-manual-throughput", "True").want(200).
		has("content.offerThroughput", "700").has("content.offerAutopilotSettings", "")

	// The number of the kind that is left is none.
	for _, left := range []string{`{"offerThroughput":-1}`, `{"offerThroughput":0}`, `{}`} {
		w.do("PUT", "/offers/"+id, body(left), "x-ms-cosmos-migrate-offer-to-autopilot", "true").want(200).
			has("content.offerAutopilotSettings.maxThroughput", "1000").has("content.offerThroughput", "100")
		off := strings.Replace(left, `"offerThroughput"`, `"maxThroughput"`, 1)
		w.do("PUT", "/offers/"+id, body(`{"offerAutopilotSettings":`+off+`}`),
			"x-ms-cosmos-migrate-offer-to-manual-throughput", "true").want(200).
			has("content.offerThroughput", "1000").has("content.offerAutopilotSettings", "")
	}
	w.do("PUT", "/offers/"+id, body(`{"offerThroughput":600,"offerAutopilotSettings":{"maxThroughput":-1}}`),
		"x-ms-cosmos-migrate-offer-to-manual-throughput", "true").want(200).has(
		"content.offerThroughput", "600")
	for _, bad := range []string{`null`, `7`, `{"offerAutopilotSettings":{"maxThroughput":-200}}`,
		`{"offerAutopilotSettings":{"maxThroughput":"1000"}}`,
		`{"offerAutopilotSettings":{"maxThroughput":1000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":-1}}}}`} {
		w.do("PUT", "/offers/"+id, body(bad), "x-ms-cosmos-migrate-offer-to-autopilot", "true").fails(400, 0,
			"")
	}
	for _, percent := range []string{"0", "25", ""} {
		policy := `,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":` + percent + `}}`
		if percent == "" {
			policy = ""
		}
		w.do("PUT", "/offers/"+id, body(`{"offerAutopilotSettings":{"maxThroughput":5000`+policy+`}}`),
			"x-ms-cosmos-migrate-offer-to-autopilot", "true").
			want(200).has("content.offerAutopilotSettings.autoUpgradePolicy.throughputPolicy.incrementPercent", percent).has("content.offerThroughput", "500")
	}

	for _, bad := range []string{`{"content":{"offerThroughput":600}}`,
		`{"id":"` + id + `","_rid":"NotIt","content":{"offerThroughput":600}}`,
		`{"id":null,"_rid":null,"content":{"offerThroughput":600}}`} {
		w.do("PUT", "/offers/"+id, bad).fails(400, 0, "id")
		w.do("PUT", "/offers/offers/"+id+"/", bad).fails(400, 0, "id") // a self link below the feed's path
	}
	w.do("GET", "/offers/offers/"+id+"/", "").want(200).has("id", `"`+id+`"`)
	w.do("PUT", "/offers/AAAA", `{"id":"NotIt","content":{"offerThroughput":600}}`).fails(400, 0, "id")
	w.do("PUT", "/offers/AAAA", `{"id":"AAAA","content":{"offerThroughput":600}}`).fails(404, 0,
		"Resource Not Found")

	w.do("GET", "/offers/no+rid", "").fails(400, 0, "resource id")
	w.do("GET", "/offers/____", "").fails(400, 0, "resource id")
	w.do("DELETE", coll, "").want(204)
	w.do("GET", "/offers/"+id, "").fails(404, 0, "Resource Not Found")
	w.do("GET", "/offers", "").want(200).has("_count", "0")
}

// TestOfferPending checks that an offer with raised throughput is reported as pending until the splits of
// ranges that it needs are done.
func TestOfferPending(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	rid := w.container("").at("_rid").Str
	w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	id := w.do("POST", "/offers", `{"query":"SELECT * FROM c WHERE c.offerResourceId = '`+rid+`'"}`,
		queryHeaders()...).at("Offers.0.id").Str
	etag := w.do("GET", coll+"/pkranges", "").want(200).header.Get("Etag")
	raised := w.do("PUT", "/offers/"+id, `{"id":"`+id+`","content":{"offerThroughput":11000}}`).want(200).
		has("content.isOfferReplacePending", "true").head("x-ms-offer-replace-pending", "true")
	if err := w.db.FinishSplits(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.do("GET", "/offers/"+id, "").want(200).has("content.isOfferReplacePending",
		"").has("content.offerThroughput", "11000").
		head("x-ms-offer-replace-pending", "false").head("etag", raised.header.Get("Etag"))
	w.do("GET", coll+"/pkranges", "", "A-IM", "Incremental feed", "If-None-Match",
		etag).want(200).has("_count", "2").
		has("PartitionKeyRanges.0.parents", `["0"]`).has("PartitionKeyRanges.1.status", `"online"`)
	w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200)
	w.do("PUT", "/offers/"+id,
		`{"id":"`+id+`","content":{"offerThroughput":400,"isOfferReplacePending":false}}`).want(200).
		head("x-ms-offer-replace-pending", "false")
	w.do("GET", coll+"/pkranges", "").want(200).has("_count", "2")
}

// TestPartitionStatistics checks the statistics of each partition range (size, number of documents,
// partition keys) that a read of a container returns if the client requests them.
func TestPartitionStatistics(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", colls, `{"id":"two","partitionKey":{"paths":["/pk"],"version":2}}`, "x-mayfly-ranges",
		"2").want(201)
	two := colls + "/two"
	big := strings.Repeat("x", 5000)
	for i, k := range []string{`"a"`, `"a"`, `"b"`, `null`} {
		w.do("POST", two+"/docs", fmt.Sprintf(`{"id":"%d","pk":%s,"big":%q}`, i, k, big),
			pk(`[`+k+`]`)...).want(201)
	}
	w.do("GET", two, "").want(200).has("statistics", "")
	w.do("GET", two, "", "x-ms-documentdb-populatepartitionstatistics", "false").want(200).has("statistics",
		"")
	a := w.do("GET", two, "", "x-ms-documentdb-populatepartitionstatistics", "True").want(200).has("id",
		`"two"`).has("statistics.#", "2")
	documents, kb, keys := int64(0), int64(0), map[string]int64{}
	for i, r := range a.at("statistics").Array() {
		if got := r.Get("id").Str; got != fmt.Sprint(i) {
			t.Errorf("range %d is %s", i, got)
		}
		documents += r.Get("documentCount").Int()
		kb += r.Get("sizeInKB").Int()
		if n := len(r.Get("partitionKeys").Array()); r.Get("sampledDistinctPartitionKeyCount").Int() != int64(
			n) || !r.Get("partitionKeys").IsArray() {
			t.Errorf("%s", r.Raw)
		}
		for _, k := range r.Get("partitionKeys").Array() {
			keys[k.Get("partitionKey").Raw] = k.Get("sizeInKB").Int()
		}
	}
	if documents != 4 || kb < 20 || kb > 24 || fmt.Sprint(keys) != `map[["a"]:10 ["b"]:5 [null]:5]` {
		t.Errorf("%d documents, %d KB: %v", documents, kb, keys)
	}
}

func TestThroughputHeadersOnCreate(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"shared"}`, "x-ms-offer-throughput", "1000").want(201)
	w.do("POST", "/dbs/shared/colls", `{"id":"c","partitionKey":{"paths":["/pk"]}}`).want(201)
	w.do("GET", "/offers", "").want(200).has("_count", "1").has("Offers.0.content.offerThroughput", "1000")

	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	auto := w.do("POST", colls, `{"id":"auto","partitionKey":{"paths":["/pk"]}}`,
		"x-ms-cosmos-offer-autopilot-settings", `{"maxThroughput":5000}`).want(201)
	w.do("POST", "/offers", `{"query":"SELECT * FROM c WHERE c.offerResourceId = '`+auto.at("_rid").Str+`'"}`,
		queryHeaders()...).want(200).
		has("Offers.0.content.offerAutopilotSettings.maxThroughput",
			"5000").has("Offers.0.content.offerThroughput", "500")
	least := `Requested throughput -200 is less than required minimum throughput 1000`
	w.do("POST", colls, `{"id":"bad","partitionKey":{"paths":["/pk"]}}`,
		"x-ms-cosmos-offer-autopilot-settings", `{"maxThroughput":-200}`).fails(400, 0, least)
	level := w.do("POST", colls, `{"id":"level","partitionKey":{"paths":["/pk"]}}`, "x-ms-offer-type",
		"S2").want(201)
	found := w.do("POST", "/offers", `{"query":"SELECT * FROM c WHERE c.offerResourceId = '`+
		level.at("_rid").Str+`'"}`, queryHeaders()...).want(200).
		has("Offers.0.offerType", `"S2"`).has("Offers.0.offerVersion",
		`"V1"`).has("Offers.0.content.offerThroughput", "1000")
	self := found.at("Offers.0._self").Str
	w.do("PUT", "/"+self, `{"id":"`+found.at("Offers.0.id").Str+
		`","offerType":"S1"}`).want(200).has("content.offerThroughput", "250")
	w.do("PUT", "/"+self, `{"id":"`+found.at("Offers.0.id").Str+
		`","offerType":"Invalid","content":{"offerThroughput":400}}`).want(200).
		has("offerVersion", `"V2"`).has("offerType", `"Invalid"`)
	for _, bad := range [][]string{
		{"x-ms-offer-throughput", "399"}, {"x-ms-offer-throughput", "450"}, {"x-ms-offer-throughput", "x"},
		{"x-ms-cosmos-offer-autopilot-settings",
			`{"maxThroughput":1500}`}, {"x-ms-cosmos-offer-autopilot-settings", `{}`},
		{"x-ms-offer-throughput", "400", "x-ms-cosmos-offer-autopilot-settings", `{"maxThroughput":4000}`},
	} {
		w.do("POST", colls, `{"id":"bad","partitionKey":{"paths":["/pk"]}}`, bad...).fails(400, 0, "")
	}
	w.do("GET", "/dbs/d/colls/bad", "").fails(404, 0, "")
}
