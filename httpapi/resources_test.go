package httpapi

import (
	"encoding/base64"
	"strings"
	"testing"
)

const (
	users = "/dbs/d/users"
	keys  = "/dbs/d/clientencryptionkeys"
)

// smallWorld returns a test server with a container c, a user u, and an item i with the partition key a.
func smallWorld(t testing.TB, change ...func(*serverUnderTestOptions)) *serverUnderTest {
	t.Helper()
	w := newServerUnderTest(t, change...)
	w.container("")
	w.do("POST", users, `{"id":"u"}`).want(201)
	w.do("POST", docs, `{"id":"i","pk":"a"}`, pk(`["a"]`)...).want(201)
	return w
}

const aKey = `"encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256","wrappedDataEncryptionKey":"AAEC","keyWrapMetadata":{"type":"t","name":"n","value":"v","algorithm":"RSA-OAEP"}`

// smallKindsOfTests are the six kinds of small resources (users, permissions, client encryption keys,
// scripts), each with the members that it needs besides the id.
var smallKindsOfTests = []struct {
	path, array, body string
	ridBytes          int
	upsert, remove    bool
	renames           bool
	extra, extraValue string // what the server adds; a * stands for any string
}{
	{users, "Users", ``, 8, true, true, true, "_permissions", `"permissions/"`},
	{users + "/u/permissions", "Permissions", `,"permissionMode":"Read","resource":"dbs/d/colls/c"`, 16, true,
		true, true, "_token", "*"},
	{keys, "ClientEncryptionKeys", `,` + aKey, 16, false, false, false, "", ""},
	{coll + "/sprocs", "StoredProcedures", `,"body":"function () { return '<&>' }"`, 16, true, true, false,
		"", ""},
	{coll + "/triggers", "Triggers", `,"body":"x","triggerType":"Pre","triggerOperation":"All"`, 16, true,
		true, false, "", ""},
	{coll + "/udfs", "UserDefinedFunctions", `,"body":"x"`, 16, true, true, false, "", ""},
}

// TestSmallResources creates, reads, replaces, lists and deletes a resource of each small kind (users,
// permissions, keys, scripts), by name and by rid.
func TestSmallResources(t *testing.T) {
	t.Parallel()
	for _, k := range smallKindsOfTests {
		t.Run(k.array, func(t *testing.T) {
			w := smallWorld(t)
			one := k.path + "/x"
			made := w.do("POST", k.path,
				`{"id":"x"`+k.body+`,"_rid":"old","_etag":"old"}`).want(201).has("id", `"x"`)
			rid, self := made.at("_rid").Str, made.at("_self").Str
			if b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(rid, "-", "/")); err != nil ||
				len(b) != k.ridBytes {
				t.Errorf("the rid %s has %d bytes (%v), want %d", rid, len(b), err, k.ridBytes)
			}
			if !strings.HasPrefix(string(made.body), `{"id":"x"`+k.body+`,"_rid"`) {
				t.Errorf("the body is not as it was sent: %s", made.body)
			}
			made.head("etag", made.at("_etag").Str)
			if extra := made.at(k.extra); k.extra != "" && extra.Raw != k.extraValue &&
				(k.extraValue != "*" || extra.Str == "") {
				t.Errorf("%s is %s", k.extra, extra.Raw)
			}
			if !strings.HasSuffix(self, "/"+rid+"/") {
				t.Errorf("_self is %s", self)
			}
			w.do("POST", k.path, `{"id":"x"`+k.body+`}`).fails(409, 0, "")
			w.do("POST", k.path, `{}`).fails(400, 0, "- 'id; ")
			w.do("POST", k.path, ``).fails(400, 0, "")
			w.do("GET", one, "").want(200).has("_rid", made.at("_rid").Raw).head("etag", made.at("_etag").Str)
			w.do("GET", one, "", "If-None-Match", made.at("_etag").Str).want(304)
			w.do("GET", "/"+self, "").want(200).has("id", `"x"`)
			w.do("GET", k.path+"/none", "").fails(404, 0, "Resource Not Found")
			feed := w.do("GET", k.path, "").want(200)
			if ids := feed.ids(k.array); strings.TrimPrefix(ids, "u ") != "x" || feed.at("_rid").Str == "" {
				t.Errorf("the feed: %s", feed.body)
			}
			w.do("POST", k.path, `{"query":"SELECT VALUE r._self FROM root r WHERE r.id=@id","parameters":[{"name":"@id","value":"x"}]}`, queryHeaders()...).
				want(200).has(k.array+".0", made.at("_self").Raw)

			w.do("PUT", one, `{"id":"x"`+k.body+`,"more":1}`, "If-Match", `"other"`).fails(412, 0,
				"pre-condition")
			put := w.do("PUT", one, `{"id":"x"`+k.body+`,"more":1}`, "If-Match",
				made.at("_etag").Str).want(200).has("_rid", made.at("_rid").Raw)
			if k.array != "Permissions" {
				put.has("more", "1")
			}
			if put.at("_etag").Str == made.at("_etag").Str {
				t.Error("a replace kept the etag")
			}
			w.do("PUT", k.path+"/none", `{"id":"none"`+k.body+`}`).fails(404, 0, "")
			if k.upsert {
				w.do("POST", k.path, `{"id":"x"`+k.body+`}`, "x-ms-documentdb-is-upsert",
					"True").want(200).has("_rid", made.at("_rid").Raw)
				other := strings.Replace(k.body, "colls/c", "colls/c/docs/i", 1)
				w.do("POST", k.path, `{"id":"y"`+other+`}`, "x-ms-documentdb-is-upsert", "True").want(201)
				w.do("DELETE", k.path+"/y", "").want(204)
			}
			if k.renames {
				w.do("PUT", one, `{"id":"z"`+k.body+`}`).want(200).has("_rid", made.at("_rid").Raw)
				w.do("GET", one, "").fails(404, 0, "")
				one = k.path + "/z"
			} else {
				w.do("PUT", one, `{"id":"z"`+k.body+`}`).fails(400, 0, "id")
			}
			if !k.remove {
				w.do("DELETE", one, "").fails(405, 0, "")
				return
			}
			w.do("DELETE", one, "", "If-Match", `"other"`).fails(412, 0, "")
			w.do("DELETE", "/"+self, "").want(204)
			w.do("GET", one, "").fails(404, 0, "")
			w.do("GET", k.path, "").want(200)
		})
	}
}

// TestSmallResourcePages checks that lists and queries of small resources (users, permissions, keys,
// scripts) are paged in the order of creation.
func TestSmallResourcePages(t *testing.T) {
	t.Parallel()
	for _, k := range smallKindsOfTests {
		if k.array == "Permissions" {
			continue // one for each resource
		}
		w := smallWorld(t)
		if k.array == "Users" {
			w.do("DELETE", users+"/u", "").want(204)
		}
		for _, id := range []string{"c", "a", "b"} {
			w.do("POST", k.path, `{"id":"`+id+`"`+k.body+`}`).want(201)
		}
		if got := strings.Join(w.pages(k.array, "GET", k.path, "", "x-ms-max-item-count", "2"),
			"|"); got != "c a|b" {
			t.Errorf("%s: pages %s", k.array, got)
		}
		got := w.pages(k.array, "POST", k.path, `{"query":"SELECT * FROM c"}`,
			queryHeaders("x-ms-max-item-count", "2")...)
		if strings.Join(got, "|") != "c a|b" {
			t.Errorf("%s: queried pages %s", k.array, got)
		}
	}
}

func TestSmallResourcesOfAbsentOwners(t *testing.T) {
	t.Parallel()
	w := smallWorld(t)
	w.do("GET", "/dbs/none/users", "").fails(404, 1003, "")
	w.do("GET", "/dbs/d/users/none/permissions", "").fails(404, 1003, "")
	w.do("POST", "/dbs/d/users/none/permissions",
		`{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c"}`).fails(404, 1003, "")
	w.do("GET", "/dbs/d/colls/none/sprocs", "").fails(404, 1003, "")
	w.do("GET", "/dbs/none/clientencryptionkeys/k", "").fails(404, 1003, "")
	// A container of the same name begins without scripts.
	w.do("POST", coll+"/sprocs", `{"id":"s","body":"x"}`).want(201)
	usage := w.do("GET", coll, "", "x-ms-documentdb-populatequotainfo",
		"True").want(200).header.Get("x-ms-resource-usage")
	if !strings.Contains(usage, ";functions=0;storedProcedures=1;triggers=0;") {
		t.Errorf("usage %s", usage)
	}
	w.do("DELETE", coll, "").want(204)
	w.container("")
	w.do("GET", coll+"/sprocs", "").want(200).has("_count", "0")
}

func TestEncryptionPolicy(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`).want(201)
	create := func(id, version, paths string) *testResponse {
		return w.do("POST", colls,
			`{"id":"`+id+`","partitionKey":{"paths":["/pk/x"],"kind":"Hash","version":2},"clientEncryptionPolicy":{"policyFormatVersion":`+
				version+`,"includedPaths":[`+paths+`]}}`)
	}
	path := func(path, kind string) string {
		return `{"path":"` + path + `","clientEncryptionKeyId":"k","encryptionType":"` + kind +
			`","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}`
	}
	create("c", "1", path("/a", "Randomized")).fails(400, 0, "does not exist")
	create("c", "1", path("/", "Randomized")).fails(400, 0,
		"ClientEncryptionKey with id '[k]' does not exist.")
	create("c", "1", path("/id", "Randomized")).fails(400, 0, "does not exist")
	create("c", "3", path("/", "Randomized")).fails(400, 0, "policyFormatVersion")
	key := w.do("POST", keys, `{"id":"k",`+aKey+`}`).want(201)
	key.has("_cts", key.at("_ts").Raw)
	w.clock.Advance(5e9)
	changed := w.do("PUT", keys+"/k", `{"id":"k",`+aKey+`,"_cts":1}`).want(200).has("_cts",
		key.at("_cts").Raw)
	if changed.at("_ts").Int() != key.at("_ts").Int()+5 || strings.Count(string(changed.body), "_cts") != 1 {
		t.Errorf("%s", changed.body)
	}
	w.do("PUT", keys+"/k", `{"id":"k",`+aKey+`}`).want(200).has("_cts", key.at("_cts").Raw)
	w.do("GET", keys+"/k", "").want(200).has("_cts", key.at("_cts").Raw)
	create("c", "1", path("/a", "Randomized")+","+path("/a", "Deterministic")).fails(400, 0, "more than once")
	create("c", "1", path("a", "Randomized")).fails(400, 0, "path")
	create("c", "1", path("/", "Randomized")).fails(400, 0, "path '/'")
	create("c", "1", strings.Replace(path("/a", "Randomized"), `"k"`, `""`, 1)).fails(400, 0,
		"needs a clientEncryptionKeyId")
	create("c", "1", path("/a/b", "Randomized")).fails(400, 0, "top")
	create("c", "1", path("/id", "Deterministic")).fails(400, 0, "policyFormatVersion 2")
	create("c", "1", path("/pk", "Deterministic")).fails(400, 0, "policyFormatVersion 2")
	create("c", "2", path("/pk", "Randomized")).fails(400, 0, "Deterministic")
	create("e", "2", path("/pk", "Deterministic")+","+path("/id", "Deterministic")).want(201)
	made := create("c", "1",
		path("/a", "Randomized")).want(201).has(
		"clientEncryptionPolicy.includedPaths.0.clientEncryptionKeyId", `"k"`)
	w.do("PUT", coll, strings.ReplaceAll(string(made.body), "Randomized", "Deterministic")).fails(400, 0,
		"clientEncryptionPolicy")
	w.do("PUT", coll, string(made.body)).want(200).has("clientEncryptionPolicy",
		made.at("clientEncryptionPolicy").Raw)
}

// TestConflicts checks that the conflicts feed of a container, which Cosmos DB has for multi-region
// writes, can be read and queried and is always empty.
func TestConflicts(t *testing.T) {
	t.Parallel()
	w := smallWorld(t)
	w.do("GET", coll+"/conflicts", "").want(200).has("Conflicts", "[]").has("_count", "0")
	w.do("POST", coll+"/conflicts", `{"query":"SELECT * FROM c"}`,
		queryHeaders()...).want(200).has("Conflicts", "[]")
	w.do("POST", coll+"/conflicts", `{"query":"SELECT * FROM c"}`,
		queryHeaders(crossing, "false")...).fails(400, 0, "Cross partition query is required but disabled.")
	w.do("POST", coll+"/conflicts", `{"query":"SELECT * FROM c"}`,
		queryHeaders(append(pk(`["a"]`), crossing, "false")...)...).want(200)
	w.do("POST", coll+"/conflicts", `{"query":"SELECT * FROM"}`, queryHeaders()...).fails(400, 0, "")
	w.do("GET", coll+"/conflicts/x", "", pk(`["a"]`)...).fails(404, 0, "")
	w.do("DELETE", coll+"/conflicts/x", "", pk(`["a"]`)...).fails(404, 0, "")
	w.do("GET", "/dbs/d/colls/none/conflicts", "").fails(404, 1003, "")
}
