package httpapi

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// permission creates a permission of the user u and returns its resource token. mode is Read or All,
// partition is a partition key as JSON or "".
func (w *serverUnderTest) permission(id, mode, resource, partition string, headers ...string) string {
	w.t.Helper()
	if partition != "" {
		partition = `,"resourcePartitionKey":` + partition
	}
	return w.do("POST", users+"/u/permissions", `{"id":"`+id+`","permissionMode":"`+mode+`","resource":"`+resource+`"`+partition+`}`, headers...).
		want(201).at("_token").Str
}

// as sends a request with a resource token as its authorization.
func (w *serverUnderTest) as(token, method, path, body string, headers ...string) *testResponse {
	w.t.Helper()
	return w.do(method, path, body, append(headers, "Authorization", token)...)
}

// tokenWorld returns the server of smallWorld (a container, a user, an item) with a second item, a second
// container and a script of each kind.
func tokenWorld(t *testing.T) *serverUnderTest {
	w := smallWorld(t)
	w.do("POST", docs, `{"id":"j","pk":"b"}`, pk(`["b"]`)...).want(201)
	w.do("POST", colls, `{"id":"other","partitionKey":{"paths":["/pk"]}}`).want(201)
	w.do("POST", coll+"/sprocs", `{"id":"s","body":"function () {}"}`).want(201)
	w.do("POST", coll+"/sprocs", `{"id":"s2","body":"function () {}"}`).want(201)
	w.do("POST", coll+"/triggers", `{"id":"t","body":"function () {}","triggerType":"Pre","triggerOperation":"All"}`).want(201)
	w.do("POST", coll+"/udfs", `{"id":"f","body":"function () {}"}`).want(201)
	return w
}

// rightsTokens are the permissions for whose resource tokens TestTokenRights checks requests. The table of
// requests names them by their letters.
var rightsTokens = []struct {
	letter                    byte
	mode, resource, partition string
}{
	{'r', "Read", "dbs/d/colls/c", ""},
	{'w', "All", "dbs/d/colls/c", ""},
	{'p', "Read", "dbs/d/colls/c", `["a"]`},
	{'P', "All", "dbs/d/colls/c", `["a"]`},
	{'i', "Read", "dbs/d/colls/c/docs/i", `["a"]`},
	{'I', "All", "dbs/d/colls/c/docs/i", `["a"]`},
	{'s', "Read", "dbs/d/colls/c/sprocs/s", ""},
	{'S', "All", "dbs/d/colls/c/sprocs/s", ""},
	{'T', "All", "dbs/d/colls/c/triggers/t", ""},
	{'F', "All", "dbs/d/colls/c/udfs/f", ""},
	{'o', "All", "dbs/d/colls/other", ""},
}

// rights lists requests. allowed has the letters (see rightsTokens) of the tokens with which a request is
// authorized.
var rights = []struct {
	method, path, headers, allowed string
}{
	{"GET", "/", "", "rwpPiIsSTFo"},
	{"GET", "/dbs", "", ""},
	{"POST", "/dbs", "", ""},
	{"POST", "/dbs", "query", ""},
	{"GET", "/dbs/d", "", ""},
	{"DELETE", "/dbs/d", "", ""},
	{"GET", "/offers", "", ""},
	{"POST", "/offers", "query", ""},
	{"GET", "/offers/AAAA", "", ""},
	{"PUT", "/offers/AAAA", "", ""},
	{"GET", users, "", ""},
	{"POST", users, "", ""},
	{"GET", users + "/u", "", ""},
	{"GET", users + "/u/permissions", "", ""},
	{"POST", users + "/u/permissions", "", ""},
	{"GET", users + "/u/permissions/r", "", ""},
	{"GET", keys, "", ""},
	{"POST", keys, "", ""},
	{"GET", keys + "/k", "", ""},
	{"GET", colls, "", ""},
	{"POST", colls, "", ""},
	{"POST", colls, "query", ""},
	{"GET", coll, "", "rwpPiIsSTF"},
	{"PUT", coll, "", ""},
	{"DELETE", coll, "", ""},
	{"GET", coll + "/pkranges", "", "rwpPiIsSTF"},
	{"GET", "/dbs/d/colls/other", "", "o"},
	{"GET", "/dbs/d/colls/other/docs", "", "o"},
	{"GET", "/_mayfly/clock", "", ""},

	{"GET", docs, "", "rw"},
	{"GET", docs, "a", "rwpP"},
	{"GET", docs, "b", "rw"},
	{"GET", docs, "feed", "rw"},
	{"GET", docs, "a feed", "rwpP"},
	{"POST", docs, "query", "rw"},
	{"POST", docs, "a query", "rwpP"},
	{"POST", docs, "b query", "rw"},
	{"POST", docs, "plan", "rw"},
	{"POST", docs, "a", "wP"},
	{"POST", docs, "b", "w"},
	{"POST", docs, "", "w"},
	{"POST", docs, "a upsert", "wP"},
	{"POST", docs, "a batch", "wP"},
	{"POST", docs, "b batch", "w"},
	{"POST", docs, "a bulk", "w"},
	{"POST", docs, "bulk", "w"},
	{"GET", docs + "/i", "a", "rwpPiI"},
	{"HEAD", docs + "/i", "a", "rwpPiI"},
	{"GET", docs + "/i", "b", "rw"},
	{"GET", docs + "/i", "", "rw"},
	{"GET", docs + "/j", "b", "rw"},
	{"GET", docs + "/j", "a", "rwpP"},
	{"PUT", docs + "/i", "a", "wPI"},
	{"PATCH", docs + "/i", "a", "wPI"},
	{"PUT", docs + "/j", "b", "w"},
	{"DELETE", docs + "/j", "b", "w"},
	{"DELETE", docs + "/none", "a", "wP"},
	{"GET", docs + "/i/attachments", "a", "rwpPiI"},
	{"POST", docs + "/i/attachments", "a", ""},
	{"GET", docs + "/i/attachments/x", "a", "rwpPiI"},
	{"POST", coll + "/operations/partitionkeydelete", "b", "w"},
	{"POST", coll + "/operations/partitionkeydelete", "", "w"},
	{"GET", coll + "/conflicts", "", "rw"},
	{"GET", coll + "/conflicts", "a", "rwpP"},
	{"DELETE", coll + "/conflicts/x", "a", "wP"},

	{"GET", coll + "/sprocs", "", "rwpP"},
	{"POST", coll + "/sprocs", "", "w"},
	{"POST", coll + "/sprocs", "query", "rwpP"},
	{"POST", coll + "/sprocs", "upsert", "w"},
	{"GET", coll + "/sprocs/s", "", "rwpPsS"},
	{"GET", coll + "/sprocs/s2", "", "rwpP"},
	{"GET", coll + "/sprocs/none", "", "rwpP"},
	{"PUT", coll + "/sprocs/s", "", "wS"},
	{"POST", coll + "/sprocs/s", "a", "wPS"},
	{"POST", coll + "/sprocs/s", "b", "wS"},
	{"POST", coll + "/sprocs/s2", "a", "wP"},
	{"DELETE", coll + "/sprocs/none", "", "w"},
	{"GET", coll + "/triggers", "", "rwpP"},
	{"POST", coll + "/triggers", "", "w"},
	{"GET", coll + "/triggers/t", "", "rwpPT"},
	{"PUT", coll + "/triggers/t", "", "wT"},
	{"POST", coll + "/triggers/t", "a", ""},
	{"DELETE", coll + "/triggers/none", "", "w"},
	{"GET", coll + "/udfs", "", "rwpP"},
	{"POST", coll + "/udfs", "", "w"},
	{"GET", coll + "/udfs/f", "", "rwpPF"},
	{"PUT", coll + "/udfs/f", "", "wF"},
	{"DELETE", coll + "/udfs/none", "", "w"},
}

// TestTokenRights sends each request of the table rights with a resource token for each kind of permission,
// and checks whether the request is authorized. An authorized request may fail for another reason.
func TestTokenRights(t *testing.T) {
	t.Parallel()
	w := tokenWorld(t)
	tokens := make(map[byte]string)
	for _, k := range rightsTokens {
		tokens[k.letter] = w.permission(string(k.letter), k.mode, k.resource, k.partition)
		w.do("DELETE", users+"/u/permissions/"+string(k.letter), "").want(204) // the next is for the same resource
	}
	for _, r := range rights {
		headers := rightsHeaders(r.headers)
		for _, k := range rightsTokens {
			a := w.as(tokens[k.letter], r.method, r.path, "", headers...)
			if refused := a.code == 401 || a.code == 403; refused == strings.Contains(r.allowed, string(k.letter)) {
				t.Errorf("%s %s (%s) with %s for %s %s: %d", r.method, r.path, r.headers, k.mode, k.resource, k.partition, a.code)
			}
		}
	}
}

// rightsHeaders returns the headers of a test request that is described by words: "a" and "b" stand for
// partition keys, words such as "query" and "upsert" for kinds of requests.
func rightsHeaders(words string) (headers []string) {
	for _, word := range strings.Fields(words) {
		switch word {
		case "a", "b":
			headers = append(headers, pk(`["`+word+`"]`)...)
		case "query":
			headers = append(headers, queryHeaders()...)
		case "plan":
			headers = append(headers, queryHeaders("x-ms-cosmos-is-query-plan-request", "True")...)
		case "feed":
			headers = append(headers, "A-IM", "Incremental feed")
		case "upsert":
			headers = append(headers, "x-ms-documentdb-is-upsert", "True")
		case "bulk":
			headers = append(headers, "x-ms-cosmos-is-batch-request", "True")
		case "batch":
			headers = append(headers, "x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "True")
		}
	}
	return headers
}

// TestRightsCoverResourceKinds checks that rights has a request for each kind of resource to which a token
// can grant access.
func TestRightsCoverResourceKinds(t *testing.T) {
	t.Parallel()
	type place struct {
		kind cosmos.ResourceKind
		feed bool
	}
	tried := map[place]bool{{cosmos.KindAddresses, true}: true} // by TestDirectTokens
	for _, r := range rights {
		to, err := parseTarget(r.path, "")
		if err != nil {
			t.Fatal(err)
		}
		tried[place{to.kind, to.feed}] = true
	}
	w := tokenWorld(t)
	_, sealed, err := splitToken(w.permission("all", "All", "dbs/d/colls/c", ""))
	if err != nil {
		t.Fatal(err)
	}
	grant, err := w.srv.auth.tokens.Open(sealed)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 * int(cosmos.KindNone) * int(cosmos.OpOther) {
		k, feed, op := cosmos.ResourceKind(n/2/int(cosmos.OpOther)), n%2 == 0, cosmos.OperationType(n/2%int(cosmos.OpOther))
		req := cosmos.Request{Kind: k, Feed: feed, Operation: op, Grant: grant,
			Address: cosmos.ResourceAddress{IDs: [cosmos.MaxIDs]string{"d", "c", "s"}, N: 3}}
		if w.srv.ops.Permit(t.Context(), &req) == nil && !tried[place{k, feed}] {
			t.Errorf("kind %d, feed %v, operation %d: tokens have rights that no test tries", k, feed, op)
		}
	}
}

// TestTokenByRID checks that a token for a resource given by name is valid for requests by rid, and the
// reverse.
func TestTokenByRID(t *testing.T) {
	t.Parallel()
	w := tokenWorld(t)
	in := w.do("GET", coll, "").want(200)
	drid := strings.Split(in.at("_self").Str, "/")[1]
	ridPath := "dbs/" + drid + "/colls/" + in.at("_rid").Str
	item := w.do("GET", docs+"/i", "", pk(`["a"]`)...).want(200)
	other := w.do("GET", docs+"/j", "", pk(`["b"]`)...).want(200)
	byName := w.permission("n", "All", "dbs/d/colls/c/docs/i", `["a"]`)
	byRID := w.permission("r", "All", strings.TrimRight(item.at("_self").Str, "/"), "")
	whole := w.permission("w", "All", ridPath, "")
	narrow := w.permission("k", "All", ridPath, `["a"]`)
	for name, token := range map[string]string{"name": byName, "rid": byRID, "whole": whole, "narrow": narrow} {
		w.as(token, "GET", docs+"/i", "", pk(`["a"]`)...).want(200)
		w.as(token, "GET", "/"+item.at("_self").Str, "", pk(`["a"]`)...).want(200)
		w.as(token, "GET", "/"+ridPath+"/pkranges", "").want(200)
		if name != "whole" {
			w.as(token, "GET", docs+"/j", "", pk(`["b"]`)...).fails(403, 0, "Insufficient permissions")
			w.as(token, "GET", "/"+other.at("_self").Str, "", pk(`["b"]`)...).fails(403, 0, "Insufficient permissions")
		}
	}
	w.as(byRID, "GET", docs+"/i", "", pk(`["b"]`)...).fails(403, 0, "")
	w.as(byName, "DELETE", "/"+item.at("_self").Str, "", pk(`["a"]`)...).want(204)
	// Made anew, the item is another one to its rid, the same one to its name.
	w.do("POST", docs, `{"id":"i","pk":"a"}`, pk(`["a"]`)...).want(201)
	w.as(byName, "GET", docs+"/i", "", pk(`["a"]`)...).want(200)
	w.as(byRID, "GET", docs+"/i", "", pk(`["a"]`)...).fails(403, 0, "")
	// A container of the same name is another one.
	w.do("DELETE", coll, "").want(204)
	w.as(whole, "GET", docs, "").fails(404, 1003, "")
	w.container("")
	for _, token := range []string{whole, byName, narrow} {
		w.as(token, "GET", coll, "").fails(403, 0, "")
		w.as(token, "GET", docs, "", pk(`["a"]`)...).fails(403, 0, "")
	}
}

// TestTokenLife checks that a resource token expires after the requested time, by the clock of the data.
func TestTokenLife(t *testing.T) {
	t.Parallel()
	w := smallWorld(t)
	const expiry = "x-ms-documentdb-expiry-seconds"
	made := w.permission("p", "Read", "dbs/d/colls/c", "")
	for _, bad := range []string{"599", "86401", "0", "-1", "soon"} {
		w.do("GET", users+"/u/permissions/p", "", expiry, bad).fails(400, 0, expiry)
	}
	short := w.do("GET", users+"/u/permissions/p", "", expiry, "600").want(200).at("_token").Str
	long := w.do("GET", users+"/u/permissions", "", expiry, "86400").want(200).at("Permissions.0._token").Str
	queried := w.do("POST", users+"/u/permissions", `{"query":"SELECT * FROM c"}`, queryHeaders(expiry, "86400")...).want(200).at("Permissions.0._token").Str
	for _, step := range []struct {
		after time.Duration
		alive []string
		dead  []string
	}{
		{599 * time.Second, []string{made, short, long, queried}, nil},
		{time.Second, []string{made, long, queried}, []string{short}},
		{2999 * time.Second, []string{made, long}, []string{short}},
		{time.Second, []string{long, queried}, []string{made, short}},
		{82800 * time.Second, nil, []string{made, short, long, queried}},
	} {
		w.clock.Advance(step.after)
		for i, token := range step.alive {
			if a := w.as(token, "GET", coll, ""); a.code != 200 {
				t.Errorf("after %v token %d: %d", step.after, i, a.code)
			}
		}
		for _, token := range step.dead {
			w.as(token, "GET", coll, "").fails(403, 0, "not valid at the current time")
		}
	}
	// Every read gives a new one.
	if again := w.permissionToken("p"); again == made {
		t.Error("a permission's token is not renewed")
	} else {
		w.as(again, "GET", coll, "").want(200)
	}
}

func (w *serverUnderTest) permissionToken(id string) string {
	w.t.Helper()
	return w.do("GET", users+"/u/permissions/"+id, "").want(200).at("_token").Str
}

// TestTokenForms checks that resource tokens are accepted percent-encoded or not, and that malformed or
// forged tokens are refused.
func TestTokenForms(t *testing.T) {
	t.Parallel()
	w := smallWorld(t)
	token := w.permission("p", "Read", "dbs/d/colls/c", "")
	w.as(token, "GET", coll, "").want(200)
	w.as(url.QueryEscape(token), "GET", coll, "").want(200)
	w.as(strings.TrimSuffix(token, ";"), "GET", coll, "").want(200)

	sig := strings.TrimPrefix(token, "type=resource&ver=1&sig=")
	mac, payload, _ := strings.Cut(strings.TrimSuffix(sig, ";"), ";")
	raw, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		t.Fatal(err)
	}
	stronger := base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(raw), `{`, `{"w":true,`, 1)))
	for i, bad := range []struct {
		token     string
		substatus int
	}{
		{"type=resource&ver=1&sig=" + mac + ";" + stronger + ";", 0},
		{"type=resource&ver=1&sig=" + strings.ToUpper(mac) + ";" + payload + ";", 0},
		{"type=resource&ver=1&sig=;" + payload + ";", 0},
		{"type=resource&ver=1&sig=" + mac, 5001},
		{"type=resource&ver=1&sig=" + mac + ";;", 5001},
		{"type=resource&ver=2&sig=" + sig, 5001},
		{"type=resource&ver=1&sig=", 5001},
		{"type=resource&ver=1&sig=" + strings.Repeat("A", 9<<10), 5001},
	} {
		a := w.as(bad.token, "GET", coll, "")
		if got, _ := strconv.Atoi(a.header.Get("x-ms-substatus")); a.code != 401 || got != bad.substatus {
			t.Errorf("case %d: %d/%d", i, a.code, got)
		}
	}
	// A signature of a request is no seal, and a seal is no signature.
	if slices.ContainsFunc([]string{"master", "aad"}, func(kind string) bool {
		return w.as("type="+kind+"&ver=1.0&sig="+mac, "GET", coll, "", "x-ms-date", w.wall.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")).code == 200
	}) {
		t.Error("a seal was taken for another credential")
	}
}

// TestTokenOfHierarchicalKey checks that a token for a prefix of a hierarchical partition key grants
// access to all keys with this prefix.
func TestTokenOfHierarchicalKey(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(`"partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}`)
	w.do("POST", users, `{"id":"u"}`).want(201)
	for _, key := range []string{`["x","1"]`, `["x","2"]`, `["y","1"]`} {
		part := strings.Split(strings.Trim(key, "[]"), ",")
		w.do("POST", docs, `{"id":"i","a":`+part[0]+`,"b":`+part[1]+`}`, pk(key)...).want(201)
	}
	token := w.permission("p", "All", "dbs/d/colls/c", `["x"]`)
	for key, code := range map[string]int{`["x","1"]`: 200, `["x","2"]`: 200, `["y","1"]`: 403, `[]`: 403} {
		if a := w.as(token, "GET", docs+"/i", "", pk(key)...); a.code != code {
			t.Errorf("%s: %d, want %d", key, a.code, code)
		}
	}
	const all = `{"query":"SELECT c.b FROM c"}`
	w.as(token, "POST", docs, all, queryHeaders(pk(`["x"]`)...)...).want(200).has("_count", "2")
	w.as(token, "POST", docs, all, queryHeaders(pk(`["y"]`)...)...).fails(403, 0, "")
	w.as(token, "POST", docs, all, queryHeaders()...).fails(403, 0, "")
}
