package httpapi

import (
	"strings"
	"testing"
)

// TestQuotaOfItemsAndScripts checks that responses about items and scripts have the quota headers of their
// container, with the usage that was last counted.
func TestQuotaOfItemsAndScripts(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	a := pk(`["a"]`)
	tells := func(r *testResponse, usage ...string) {
		t.Helper()
		if q := r.header.Get("X-Ms-Resource-Quota"); !strings.Contains(q, "collectionSize=10485760;") {
			t.Errorf("%s: quota %q", r.what, q)
		}
		for _, u := range append(usage, "collectionSize=") {
			if is := r.header.Get("X-Ms-Resource-Usage"); !strings.Contains(is, u) {
				t.Errorf("%s: usage %q lacks %q", r.what, is, u)
			}
		}
	}
	tells(w.do("POST", docs, `{"id":"1","pk":"a"}`, a...).want(201), "documentsCount=0;")
	w.do("GET", coll, "", "x-ms-documentdb-populatequotainfo", "True").want(200)
	tells(w.do("GET", docs+"/1", "", a...).want(200), "documentsCount=1;")
	upsert := append(pk(`["a"]`), "x-ms-documentdb-is-upsert", "True")
	tells(w.do("POST", docs, `{"id":"1","pk":"a"}`, upsert...).want(200))
	tells(w.do("PUT", docs+"/1", `{"id":"1","pk":"a"}`, append(a, "Prefer", "return=minimal")...).want(200))
	tells(w.do("PATCH", docs+"/1", `{"operations":[{"op":"set","path":"/n","value":1}]}`, a...).want(200))
	tells(w.do("GET", docs, "").want(200))
	tells(w.do("GET", docs, "", "A-IM", "Incremental feed").want(200))
	tells(w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(a...)...).want(200))
	for kind, more := range map[string]string{
		"sprocs": "", "udfs": "", "triggers": `,"triggerType":"Post","triggerOperation":"All"`,
	} {
		body := `{"id":"s","body":"function () { var r = getContext().getResponse(), b = r.getBody(); ` +
			`b.max = r.getMaxResourceQuota(); b.now = r.getResourceQuotaCurrentUsage(); r.setBody(b); }"` +
			more + `}`
		tells(w.do("POST", coll+"/"+kind, body).want(201))
		tells(w.do("GET", coll+"/"+kind+"/s", "").want(200), ";triggers=")
		tells(w.do("PUT", coll+"/"+kind+"/s", body).want(200), ";functions=")
	}
	with := append(pk(`["a"]`), "x-ms-documentdb-post-trigger-include", "s")
	made := w.do("POST", docs, `{"id":"2","pk":"a"}`, with...).want(201)
	if !strings.Contains(made.at("max").Str, "collectionSize=10485760;") ||
		!strings.Contains(made.at("now").Str, "documentsCount=1;collectionSize=") {
		t.Errorf("%s", made.body)
	}
	tells(w.do("DELETE", docs+"/2", "", a...).want(204))
	w.do("GET", docs+"/none", "", a...).want(404).head("x-ms-resource-quota", "")
	w.do("POST", "/dbs/d/users", `{"id":"u"}`).want(201).head("x-ms-resource-quota", "")
}
