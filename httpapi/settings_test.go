package httpapi

import (
	"strings"
	"testing"
)

const settingsPath = "/_mayfly/dbs/d/colls/c/settings"

// TestSettingsOverHTTP checks PATCH of a container's Mayfly settings: it changes only the members that
// it names, null clears a setting, and an invalid request changes nothing.
func TestSettingsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.expiring("100")
	w.do("POST", colls, `{"id":"archive",`+keyedByPK+`}`).want(201)
	const fresh = `{"onExpire":null,"ttlCeiling":false,"autoDeleteOnIdle":0,"expiryEvents":null,"reaper":null,"changesTo":""}`
	w.do("GET", settingsPath, "").want(200).has("@this", fresh)
	w.do("PATCH", settingsPath, `{"onExpire":{"moveTo":"archive"},"autoDeleteOnIdle":600}`).want(200).
		has("@this", `{"onExpire":{"moveTo":"archive"},"ttlCeiling":false,"autoDeleteOnIdle":600,"expiryEvents":null,"reaper":null,"changesTo":""}`)
	w.do("PATCH", settingsPath,
		`{"ttlCeiling":true,"autoDeleteOnIdle":null}`).want(200).has("onExpire.moveTo", `"archive"`).has(
		"autoDeleteOnIdle", "0")
	kept := string(w.do("GET", settingsPath, "").want(200).body)
	for _, bad := range []string{``, `[]`, `{"onexpire":null}`, `{"onExpire":"archive"}`, `{"onExpire":{}}`,
		`{"onExpire":{"moveTo":"c"}}`,
		`{"onExpire":{"moveTo":"nowhere"}}`, `{"onExpire":{"moveTo":"archive","more":1}}`, `{"ttlCeiling":1}`, `{"autoDeleteOnIdle":299}`,
		`{"autoDeleteOnIdle":300.5}`, `{"autoDeleteOnIdle":"600"}`, `{"ttlCeiling":false,"unknown":1}`, `{"ttlCeiling":false,"ttlCeiling":true}`} {
		w.do("PATCH", settingsPath, bad).want(400)
	}
	w.do("GET", settingsPath, "").want(200).has("@this", kept)
	w.do("PATCH", strings.Replace(settingsPath, "colls/c", "colls/x", 1), `{}`).want(404)
	w.do("PUT", settingsPath, `{}`).want(405)

	// The SDK's view: nothing of it shows, a replace leaves it alone, and an archive cannot be deleted.
	if body := w.do("GET", coll, "").want(200).body; strings.Contains(string(body), "onExpire") {
		t.Errorf("the container shows it: %s", body)
	}
	w.setDefault("50").want(200)
	w.do("GET", settingsPath, "").want(200).has("@this", kept)
	w.do("DELETE", colls+"/archive", "").fails(409, 0, "archive")

	// The ceiling, by the answer and by what is stored.
	for name, do := range map[string]func() *testResponse{
		"create": func() *testResponse { return w.put("create", "51") },
		"never":  func() *testResponse { return w.put("never", "-1") },
		"upsert": func() *testResponse {
			return w.do("POST", docs, item("upsert", "2147483647"),
				append(pk(`["a"]`), "x-ms-documentdb-is-upsert", "true")...)
		},
		"replace": func() *testResponse {
			w.put("replace", "1").want(201)
			return w.do("PUT", docs+"/replace", item("replace", "52"), pk(`["a"]`)...)
		},
		"patch": func() *testResponse {
			w.put("patch", "1").want(201)
			return w.do("PATCH", docs+"/patch", `{"operations":[{"op":"set","path":"/ttl","value":900}]}`,
				pk(`["a"]`)...)
		},
	} {
		if got := do(); got.at("ttl").Raw != "50" {
			t.Errorf("%s: %s", name, got.body)
		}
		w.do("GET", docs+"/"+name, "", pk(`["a"]`)...).want(200).has("ttl", "50")
	}
	w.put("short", "49").want(201).has("ttl", "49")
	w.put("inherits", "").want(201)
	w.pass(49)
	w.alive("short", false)
	w.alive("never", true)
	w.pass(1)
	for _, id := range []string{"create", "never", "upsert", "replace", "patch", "inherits"} {
		w.alive(id, false)
	}
}

func TestLeaseOverHTTP(t *testing.T) {
	t.Parallel()
	const leasePath = "/_mayfly/dbs/d/colls/c/lease"
	w := newServerUnderTest(t)
	w.expiring("10")
	etag := w.put("x", "").want(201).at("_etag").Raw
	at := w.do("GET", docs+"/x", "", pk(`["a"]`)...).want(200).at("_ts").Int()
	w.pass(5)
	if until := w.do("POST", leasePath, `{"id":"x","partitionKey":["a"],"seconds":20}`).want(200).has("id",
		`"x"`).at("leaseUntil").Int(); until != at+25 {
		t.Errorf("until %d", until-at)
	}
	w.pass(19)
	w.do("GET", docs+"/x", "", pk(`["a"]`)...).want(200).has("_etag", etag)
	w.alive("x", true)
	w.do("DELETE", leasePath, `{"id":"x","partitionKey":["a"]}`).want(200).has("leaseUntil", "0")
	w.alive("x", false)
	w.do("POST", leasePath, `{"id":"x","partitionKey":["a"],"seconds":20}`).want(404)
	w.put("y", "").want(201)
	for _, bad := range []string{``, `{"id":"y","partitionKey":["a"]}`, `{"partitionKey":["a"],"seconds":1}`,
		`{"id":"y","seconds":1}`, `{"id":1,"partitionKey":["a"],"seconds":1}`,
		`{"id":"y","partitionKey":"a","seconds":1}`, `{"id":"y","partitionKey":["a"],"seconds":0}`, `{"id":"y","partitionKey":["a"],"seconds":604801}`,
		`{"id":"y","partitionKey":["a"],"seconds":1.5}`, `{"id":"y","partitionKey":["a"],"seconds":1,"more":1}`} {
		w.do("POST", leasePath, bad).want(400)
	}
	w.do("DELETE", leasePath, `{"id":"y","partitionKey":["a"],"seconds":1}`).want(400)
}
