package httpapi

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/hybridrowtest"
)

func (g *requestGenerator) coll() string {
	return colls + "/" + g.of("c", "c", "c", "c", "four", "four", "four", "tree", "tree", "unique", "unique", "unique", "new", "none")
}

func (g *requestGenerator) id() string {
	if !g.in(6) {
		return "i" + strconv.Itoa(g.n(6))
	}
	return g.of("new", "a/b", "ü", "a b", "%", "")
}

func escaped(id string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F", " ", "%20", "ü", "%C3%BC").Replace(id)
}

// key returns a partition key for a request to a container, usually that of the item id.
func (g *requestGenerator) key(path, id string) string {
	pk, n := "k0", 0
	if len(id) == 2 && id[0] == 'i' {
		n = int(id[1] - '0')
		pk = "k" + strconv.Itoa(n%3)
	}
	key := `["` + pk + `"]`
	if strings.Contains(path, "/tree") {
		key = fmt.Sprintf(`["%s",%d,"s%d"]`, pk, n, n%2)
	}
	if !g.in(16) {
		return key
	}
	return g.of(`["k1"]`, `["k0",0]`, `[{}]`, `[null]`, `[]`, `[1e5]`, `["\U0001f600"]`)
}

func (g *requestGenerator) document(id string) string {
	n := "7"
	if len(id) == 2 && id[0] == 'i' {
		n = id[1:]
	}
	more := g.of("", "", "", "", "", "", "", "", "", `,"ttl":5`, `,"ttl":-1`, `,"ttl":0`, `,"v":{"x":[1,{"y":"`+strings.Repeat("z", 300)+`"}]}`, `,"_etag":"x","_ts":1`, `,"u":[]`)
	if g.in(16) {
		n = g.of("13", "1", "null", "{}") // refused by a trigger, not unique, no key
	}
	i, err := strconv.Atoi(n)
	if err != nil {
		i = 0
	}
	return fmt.Sprintf(`{"id":%s,"pk":"k%d","n":%s,"s":"s%d"%s}`, jsonString(id), i%3, n, i%2, more)
}

// item returns a request for an item of the container at, with random conditions and triggers.
func (g *requestGenerator) item(method, path, body, at, id string) fuzzedRequest {
	f := with(method, path, body, "x-ms-documentdb-partitionkey", g.key(at, id))
	if g.in(6) {
		f.set(g.of("If-Match", "If-None-Match"), g.of(g.known("etag", `"x"`), "*", `"stale"`))
	}
	if g.in(5) {
		f.set("x-ms-session-token", g.known("session", "0:-1#3"))
	}
	if g.in(6) {
		f.set("Prefer", "return=minimal")
	}
	if strings.HasSuffix(at, "/c") && g.in(4) {
		f.set("x-ms-documentdb-pre-trigger-include", g.of("pre", "pre", "pre,none", "post"))
		f.set("x-ms-documentdb-post-trigger-include", "post")
	}
	return f
}

func (g *requestGenerator) create() fuzzedRequest {
	at, id := g.coll(), g.id()
	f := g.item("POST", at+"/docs", g.document(id), at, id)
	f.set("x-ms-documentdb-is-upsert", g.of("true", "true", "False"))
	return f
}

func (g *requestGenerator) replace() fuzzedRequest {
	at, id := g.coll(), g.id()
	return g.item("PUT", at+"/docs/"+escaped(id), g.document(id), at, id)
}

func (g *requestGenerator) read() fuzzedRequest {
	at, id := g.coll(), g.id()
	if g.in(5) {
		return with(g.of("GET", "PUT", "DELETE"), "/"+g.known("self", "dbs/AAAAAA=="), g.document(id))
	}
	return g.item(g.of("GET", "GET", "HEAD"), at+"/docs/"+escaped(id), "", at, id)
}

func (g *requestGenerator) remove() fuzzedRequest {
	at, id := g.coll(), g.id()
	return g.item("DELETE", at+"/docs/"+escaped(id), "", at, id)
}

func (g *requestGenerator) patchBody() string {
	ops := g.of(`{"op":"set","path":"/x","value":1}`, `{"op":"set","path":"/w","value":{"y":[1]}}`, `{"op":"set","path":"/ttl","value":5}`, `{"op":"incr","path":"/m","value":0.5}`,
		`{"op":"add","path":"/v/0","value":[]}`, `{"op":"set","path":"/~0~1","value":{}}`)
	if g.in(6) { // not everywhere, or nowhere
		ops += "," + g.of(`{"op":"incr","path":"/n","value":1}`, `{"op":"remove","path":"/s"}`, `{"op":"replace","path":"/s","value":"t"}`, `{"op":"move","from":"/s","path":"/v/-"}`,
			`{"op":"remove","path":"/none"}`, `{"op":"set","path":"/id","value":"x"}`, `{"op":"set","path":"/pk","value":"x"}`, `{"op":"set","path":"/ttl","value":0}`, `{"op":"add","path":"/a/b/c","value":1}`)
	}
	if g.in(8) {
		return `{"condition":"FROM c WHERE` + g.of("", " c.n < 3", " c.n = udf.twice(1)") + `","operations":[` + ops + `]}`
	}
	return g.of("["+ops+"]", `{"operations":[`+ops+`]}`, `{"condition":"FROM c WHERE c.n >= 0","operations":[`+ops+`]}`)
}

func (g *requestGenerator) patch() fuzzedRequest {
	at, id := g.coll(), g.id()
	return g.item("PATCH", at+"/docs/"+escaped(id), g.patchBody(), at, id)
}

// scope adds headers that limit a request to a part of a container, and set a page size.
func (g *requestGenerator) scope(f fuzzedRequest) fuzzedRequest {
	switch g.n(9) {
	case 1:
		f.set("x-ms-documentdb-partitionkey", g.key(f.path, "i1"))
	case 2:
		f.set("x-ms-documentdb-partitionkeyrangeid", g.of("0", "0", "1", "3", "4", "AAAA,1", "9"))
	case 3:
		f.set("x-ms-documentdb-partitionkeyrangeid", g.of("0", "2"))
		f.set("x-ms-start-epk", g.of("", "05", "10", "20", "2D145581F5E75BAC6C539649981C9670"))
		f.set("x-ms-end-epk", g.of("FF", "18", "30", "05"))
		f.set("x-ms-read-key-type", "EffectivePartitionKeyRange")
	case 4:
		f.set("x-ms-start-epk", g.of("00", "1FFF", "3F"))
	}
	if g.in(2) {
		f.set("x-ms-max-item-count", g.of("1", "2", "3", "-1", "100"))
	}
	if g.in(6) {
		f.set("x-ms-continuation", g.known("continuation", "x"))
	}
	if g.in(6) {
		f.set("x-ms-session-token", g.known("session", "0:-1#3"))
	}
	return f
}

func (g *requestGenerator) list() fuzzedRequest { return g.scope(with("GET", g.coll()+"/docs", "")) }

func (g *requestGenerator) queryText() string {
	return g.of("SELECT * FROM c", "SELECT c.id FROM c WHERE c.pk = @x", "SELECT * FROM c ORDER BY c.n DESC", "SELECT * FROM c ORDER BY c.n, c.id", "SELECT VALUE COUNT(1) FROM c",
		"SELECT c.pk, SUM(c.n) AS s FROM c GROUP BY c.pk", "SELECT DISTINCT VALUE c.s FROM c", "SELECT TOP 2 * FROM c", "SELECT * FROM c OFFSET 1 LIMIT 2",
		"SELECT udf.twice(c.n) FROM c", "SELECT v FROM c JOIN v IN c.v", "SELECT * FROM c WHERE c._ts > 0 AND c.n IN (1, 2, @x)", "SELECT MAX(c.n), MIN(c.s) FROM c",
		`SELECT c._rid, [{"item": c.n}] AS orderByItems, c AS payload FROM c WHERE ({documentdb-formattableorderbyquery-filter}) ORDER BY c.n`,
		`SELECT VALUE [{"item": MIN(c.n), "item2": {"min": MIN(c.n), "count": COUNT(c.n)}}] FROM c`, "SELECT c.low FROM c WHERE c.low = 'i1'", "SELECT * FORM c", "SELECT VALUE 1",
		"SELECT TOP 1 * FROM c ORDER BY RANK FullTextScore(c.s, 's1')", "SELECT * FROM c WHERE RegexMatch(c.id, 'i[0-3]') ORDER BY c.s", "SELECT VALUE udf.none(1)")
}

func (g *requestGenerator) queryBody() string {
	params := g.of(`[]`, `[{"name":"@x","value":"k1"}]`, `[{"name":"@x","value":2}]`, `[{"name":"@x","value":[1,{}]}]`, `null`, `[{"name":"@x"},{"name":"@x"}]`)
	return `{"query":` + jsonString(g.queryText()) + `,"parameters":` + params + `}`
}

func (g *requestGenerator) query() fuzzedRequest {
	path := g.coll() + "/docs"
	if g.in(4) {
		path = g.of("/dbs", colls, "/offers", users, users+"/u/permissions", coll+"/sprocs", coll+"/conflicts", keys)
	}
	f := g.scope(with("POST", path, g.queryBody(), queryHeaders()...))
	if g.in(2) {
		f.set(served[0], served[1])
	}
	if g.in(3) {
		f.set(g.of("x-ms-documentdb-populatequerymetrics", "x-ms-cosmos-populateindexmetrics", "x-ms-cosmos-populateindexmetrics-V2", "x-ms-cosmos-query-optimisticdirectexecute"), "True")
	}
	return f
}

func (g *requestGenerator) plan() fuzzedRequest {
	f := with("POST", g.coll()+"/docs", g.queryBody(), queryHeaders(planHeaders(g.of(allFeatures, "OrderBy, Top", ""))...)...)
	if g.in(4) {
		f.set("x-ms-documentdb-partitionkey", g.key(f.path, "i1"))
	}
	return f
}

func (g *requestGenerator) resume() fuzzedRequest {
	filter := `{"value":[` + g.of("3", `"s1"`, "[]", "null", `1,"i1"`) + `]` + g.of("", `,"exclude":true`, `,"rid":`+jsonString(g.known("rid", "AAAA"))) + `}`
	return g.scope(with("POST", g.coll()+"/docs", `{"query":"SELECT * FROM c ORDER BY c.n","resumeFilter":`+filter+`}`, queryHeaders(served...)...))
}

func (g *requestGenerator) feed() fuzzedRequest {
	headers := incremental()
	if g.in(2) {
		headers = fidelity()
	}
	f := g.scope(with("GET", g.coll()+"/"+g.of("docs", "docs", "docs", "pkranges"), "", headers...))
	switch g.n(4) {
	case 1:
		f.set("If-None-Match", g.of(g.known("etag", `"1"`), "*", `"3"`, `"0:2,1:1,7:4"`))
	case 2:
		f.set("If-Modified-Since", g.of("Mon, 01 Mar 2027 12:00:00 GMT", "Mon, 01 Mar 2027 11:59:59 UTC", "Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"))
	}
	return f
}

func (g *requestGenerator) batch() fuzzedRequest {
	at := g.coll()
	var ops []string
	same := g.id()
	for n := g.n(4); n >= 0; n-- {
		id := same
		if g.in(4) {
			id = g.id()
		}
		op := `{"operationType":"`
		switch kind := g.of("Upsert", "Upsert", "Create", "Read", "Replace", "Delete", "Patch"); {
		case kind == "Patch":
			op += kind + `","resourceBody":` + g.patchBody()
		case kind == "Read", kind == "Delete":
			op += kind + `"`
		default:
			op += kind + `","resourceBody":` + g.document(id)
		}
		op += `,"id":` + jsonString(id)
		if g.in(2) {
			op += `,"partitionKey":` + jsonString(g.key(at, id))
		}
		if g.in(5) {
			op += `,"` + g.of("ifMatch", "ifNoneMatch") + `":` + jsonString(g.known("etag", "*"))
		}
		ops = append(ops, op+"}")
	}
	return g.batchOf(at, same, "["+strings.Join(ops, ",")+"]")
}

func (g *requestGenerator) batchOf(at, id, body string) fuzzedRequest {
	f := with("POST", at+"/docs", body, atomicBatch(g.key(at, id))...)
	if g.in(2) {
		f = with("POST", at+"/docs", body, bulk(g.of("0", "1", "9"))...)
	}
	return f
}

// rows generates a batch in the binary HybridRow encoding of the .NET SDK.
func (g *requestGenerator) rows() fuzzedRequest {
	var rows []string
	for n := g.n(3); n >= 0; n-- {
		rows = append(rows, g.of(hybridrowtest.Delete, hybridrowtest.Create,
			"81 70 54 e1 7f 13 02 00 00 00 02 00 00 00 02 69 30",
			"81 70 54 e1 7f 43 14 00 00 00 02 00 00 00 15"+hex.EncodeToString([]byte(`{"id":"i0","pk":"k0"}`)),
			"81 70 54 e1 7f 53 05 00 00 00 02 00 00 00 02 69 30 15"+hex.EncodeToString([]byte(`{"id":"i0","pk":"k0"}`))+"14 09 01 2a 03 0c"))
	}
	return g.batchOf(g.coll(), "i0", rowBatch(rows...))
}

func (g *requestGenerator) partition() fuzzedRequest {
	if !g.in(4) {
		return g.create()
	}
	at := g.coll()
	return with("POST", at+"/operations/partitionkeydelete", "", "x-ms-documentdb-partitionkey", g.key(at, g.of("i0", "i1", "i2")))
}

func (g *requestGenerator) containerBody(id string) string {
	key := `{"paths":["/pk"]}`
	for _, c := range fuzzContainers {
		if c.id == id {
			key = c.key
		}
	}
	if g.in(6) {
		key = g.of(`{"paths":["/pk"],"kind":"Hash","version":2}`, `{"paths":["/pk","/n","/s"],"kind":"MultiHash","version":2}`, `{"paths":["/id"]}`, `{"paths":["pk"]}`)
	}
	more := g.of("", `,"defaultTtl":-1`, `,"defaultTtl":3`, `,"defaultTtl":0`, `,"indexingPolicy":{"indexingMode":"none","automatic":false}`,
		`,"indexingPolicy":{"includedPaths":[{"path":"/n/?"}],"excludedPaths":[{"path":"/*"}]}`, `,"changeFeedPolicy":{"retentionDuration":5}`, `,"changeFeedPolicy":{"retentionDuration":-1}`,
		`,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/n"]}]}`, `,"computedProperties":[{"name":"low","query":"SELECT VALUE UPPER(c.id) FROM c"}]`, `,"conflictResolutionPolicy":{"mode":"LastWriterWins"}`,
		`,"geospatialConfig":{"type":"Geography"}`, `,"unknown":1`)
	return `{"id":` + jsonString(id) + `,"partitionKey":` + key + more + `}`
}

func (g *requestGenerator) container() fuzzedRequest {
	at := g.coll()
	id := at[len(colls)+1:]
	f := with("PUT", at, g.containerBody(id))
	switch g.n(8) {
	case 0:
		f = with("POST", colls, g.containerBody(g.of("new", "new", "c", "x/y")), "x-mayfly-ranges", g.of("1", "2", "5"))
	case 1:
		f = with("GET", g.of(at, colls), "", "x-ms-documentdb-populatequotainfo", "True")
	case 2:
		f = with("DELETE", at, "")
	case 3:
		f = with("POST", colls, g.containerBody("new"), g.of("x-ms-offer-throughput", "x-ms-cosmos-offer-autopilot-settings"), g.of("400", "25000", `{"maxThroughput":4000}`, "401"))
	}
	if g.in(6) {
		f.set("If-Match", g.known("etag", `"x"`))
	}
	return f
}

func (g *requestGenerator) database() fuzzedRequest {
	id := g.of("d2", "d", "AAAAAA==", "x y")
	switch g.n(4) {
	case 0:
		return with("POST", "/dbs", `{"id":"`+id+`"}`, "x-ms-offer-throughput", g.of("", "400", "1000"))
	case 1:
		if id == "d" && !g.in(4) {
			id = "d2"
		}
		return with("DELETE", "/dbs/"+escaped(id), "")
	case 2:
		return with("GET", "/dbs/"+escaped(id), "")
	}
	return with("GET", "/dbs", "", "x-ms-max-item-count", "1", "x-ms-continuation", g.known("continuation", "Databases:00000001"))
}

func (g *requestGenerator) offer() fuzzedRequest {
	id := g.known("Offers", "AgAA")
	content := g.of(`{"offerThroughput":500}`, `{"offerThroughput":40000}`, `{"offerAutopilotSettings":{"maxThroughput":4000}}`, `{"offerThroughput":1}`, `null`)
	f := with(g.of("GET", "PUT"), "/offers/"+id, `{"id":"`+id+`","content":`+content+`}`)
	if g.in(3) {
		f.set(g.of("x-ms-cosmos-migrate-offer-to-autopilot", "x-ms-cosmos-migrate-offer-to-manual-throughput"), "true")
	}
	if g.in(3) {
		return with("GET", "/offers", "")
	}
	return f
}

// small generates a request for a small resource: a user, permission, client encryption key or script.
func (g *requestGenerator) small() fuzzedRequest {
	path := g.of(users, users+"/u/permissions", users+"/none/permissions", keys, coll+"/sprocs", coll+"/triggers", coll+"/udfs", colls+"/four/udfs")
	id := map[string]string{users: "u", users + "/u/permissions": "all", keys: "key", coll + "/sprocs": "write", coll + "/triggers": "pre", coll + "/udfs": "twice"}[path]
	if id == "" || g.in(3) {
		id = "new"
	}
	resource := g.of("dbs/d/colls/c", "dbs/d/colls/four", "dbs/d/colls/c/docs/i0", "dbs/d/colls/none", g.known("self", "dbs/x"))
	body := `{"id":"` + id + `"` + g.of("", `,"resourcePartitionKey":["k0"]`) + `,"permissionMode":"` + g.of("Read", "All", "None") + `","resource":"` + resource + `",` + aKey +
		`,"body":` + jsonString(fuzzScripts[g.n(len(fuzzScripts))].body) + `,"triggerType":"` + g.of("Pre", "Post", "x") + `","triggerOperation":"` + g.of("All", "Create", "x") + `"}`
	switch g.n(5) {
	case 0:
		return with("POST", path, body, "x-ms-documentdb-is-upsert", g.of("true", "false"), "x-ms-documentdb-expiry-seconds", g.of("600", "86400", "1"))
	case 1:
		return with("PUT", path+"/"+id, body)
	case 2:
		return with("DELETE", path+"/"+id, "")
	case 3:
		return with("GET", path, "", "x-ms-max-item-count", "1", "x-ms-continuation", g.known("continuation", ""))
	}
	return with("GET", path+"/"+id, "")
}

func (g *requestGenerator) execute() fuzzedRequest {
	return with("POST", coll+"/sprocs/"+g.of("write", "read", "fail", "new", "none"), g.of(`["a"]`, `[]`, ``, `["i0"]`, `[{"x":[1]},null]`, `{}`),
		"x-ms-documentdb-partitionkey", g.of(`["k0"]`, `["k0"]`, `["k1"]`, `[{}]`), "x-ms-documentdb-script-enable-logging", "true")
}

// clock generates a request that advances the clock of the data a little.
func (g *requestGenerator) clock() fuzzedRequest {
	return with(g.of("PUT", "GET"), "/_mayfly/clock", g.of(`{"advance":"1s"}`, `{"advance":"7s"}`, `{"freeze":true}`, `{"set":"2027-03-01T12:05:00Z"}`, `{"advance":"-1s"}`, `{"set":"x"}`))
}

func (g *requestGenerator) split() fuzzedRequest {
	return with("POST", "/_mayfly"+g.coll()+"/split", `{"range":"`+g.of("0", "0", "1", "2", "9")+`"`+g.of("", "", `,"at":"10"`, `,"at":"05C1D0"`, `,"at":"zz"`)+`}`)
}

func (g *requestGenerator) explain() fuzzedRequest {
	return with("POST", "/_mayfly/explain", `{"database":"d","container":"`+g.of("c", "four", "tree", "none")+`","query":`+jsonString(g.queryText())+
		g.of("", `,"maxItemCount":1`, `,"partitionKey":["k0"]`, `,"parameters":[{"name":"@x","value":1}]`)+`}`)
}

// own generates a request to Mayfly's own API.
func (g *requestGenerator) own() fuzzedRequest {
	id := g.id()
	at := g.coll()
	item := `"id":` + jsonString(id) + `,"partitionKey":` + g.key(at, id)
	at = "/_mayfly" + at
	switch g.n(8) {
	case 0:
		return with("POST", at+"/explain-item", "{"+item+"}")
	case 1:
		return with("POST", at+"/ttl-dry-run", `{"defaultTtl":`+g.of("null", "-1", "1", "0", `"x"`)+`}`)
	case 2:
		return with("GET", at+g.of("/lint", "/forecast", "/settings", "/reaper"), "")
	case 3:
		return with("POST", at+"/lease", "{"+item+`,"seconds":`+g.of("10", "1", "0", "-1", "1e12")+"}")
	case 4:
		return with("DELETE", at+"/lease", "{"+item+"}")
	case 5:
		return with("PATCH", at+"/settings", g.of(`{"ttlCeiling":true}`, `{"ttlCeiling":null}`, `{"autoDeleteOnIdle":5}`, `{"none":1}`, `{"onExpire":{}}`))
	case 6:
		return with("POST", at+"/import", `{"documents":[`+g.document(id)+`],"create":`+g.of("true", "false")+`}`)
	}
	return with("GET", g.of("/_mayfly", "/_mayfly/metrics", "/_mayfly/openapi.json", "/_mayfly/forecast", "/_mayfly/snapshots"), "")
}

// open generates a request that needs no authorization.
func (g *requestGenerator) open() fuzzedRequest {
	return with("GET", g.of("/_mayfly/livez", "/_mayfly/readyz", "/_mayfly/cert.pem", "/_explorer/emulator.pem", "/_mayfly/nothing"), "")
}

func (g *requestGenerator) other() fuzzedRequest {
	return with(g.of("GET", "OPTIONS", "HEAD", "POST"), g.of("/", coll+"/pkranges", coll+"/conflicts", coll+"/conflicts/x", docs+"/i0/attachments", "//addresses/?x=1", "/dbs//d/", docs+"/i0?x=%zz"), "",
		"Origin", "http://localhost:3000")
}
