package httpapi

import (
	"testing"
	"time"
)

// TestLSNHeaders checks the LSN (log sequence number) headers: those of the partition range, and
// that of the item that was read.
func TestLSNHeaders(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	key := pk(`["a"]`)
	made := w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(201).head("x-ms-item-lsn", "")
	written := made.header.Get("Lsn")
	later := w.do("POST", docs, `{"id":"2","pk":"a"}`, key...).want(201).header.Get("Lsn")
	read := w.do("GET", docs+"/1", "", key...).want(200).head("lsn", later).head("x-ms-item-lsn",
		written).head("x-ms-cosmos-item-llsn", written)
	missing := w.do("GET", docs+"/none", "", key...).want(404).head("x-ms-item-lsn",
		"").head("x-ms-cosmos-item-llsn", "")
	for _, a := range []*testResponse{read, missing, w.do("GET", docs, "").want(200)} {
		for _, name := range []string{"x-ms-cosmos-llsn", "x-ms-global-committed-lsn",
			"x-ms-quorum-acked-lsn"} {
			a.head(name, later)
		}
		at, err := time.Parse("Mon, 02 Jan 2006 15:04:05.000 GMT", a.header.Get("X-Ms-Last-State-Change-Utc"))
		if err != nil || !at.Equal(start) {
			t.Errorf("%s: last change of state %v, %v", a.what, at, err)
		}
	}
	w.do("GET", "/dbs/d", "").want(200).head("x-ms-last-state-change-utc", "").head("x-ms-cosmos-llsn", "")
}

// TestContentLocation checks that the response to a successful read has the URL of the resource in
// content-location.
func TestContentLocation(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", docs, `{"id":"a b","pk":"a"}`, pk(`["a"]`)...).want(201).head("content-location", "")
	for _, path := range []string{"/", "/dbs/d", coll, docs + "/a%20b", coll + "/pkranges"} {
		w.do("GET", path, "", pk(`["a"]`)...).want(200).head("content-location", "http://example.com"+path)
	}
	w.do("GET", docs+"/none", "", pk(`["a"]`)...).want(404).head("content-location", "")
	w.do("GET", "/_mayfly/clock", "").want(200).head("content-location", "")

	w = newServerUnderTest(t, func(s *serverUnderTestOptions) { s.server.Advertise = "https://db.example:1" })
	w.container("")
	w.do("GET", coll, "").want(200).head("content-location", "https://db.example:1"+coll)
}

// TestSharedThroughput checks the header x-ms-share-throughput of containers that share their database's
// throughput.
func TestSharedThroughput(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.do("POST", "/dbs", `{"id":"d"}`, "x-ms-offer-throughput", "1000").want(201)
	spec := `,"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`
	w.do("POST", colls, `{"id":"shared"`+spec).want(201).head("x-ms-share-throughput", "true")
	w.do("POST", colls, `{"id":"own"`+spec, "x-ms-offer-throughput",
		"400").want(201).head("x-ms-share-throughput", "")
	w.do("GET", colls+"/shared", "").want(200).head("x-ms-share-throughput", "true")
	w.do("PUT", colls+"/shared", `{"id":"shared","defaultTtl":5`+spec).want(200).head("x-ms-share-throughput",
		"true")
	w.do("GET", colls+"/own", "").want(200).head("x-ms-share-throughput", "")
}

// TestExcludeSystemProperties checks that an item is returned without system properties if both its last
// write and the read have the header x-ms-exclude-system-properties.
func TestExcludeSystemProperties(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	key := append(pk(`["a"]`), "x-ms-exclude-system-properties", "true")
	const text = `{"id":"1","pk":"a","n":1}`
	for _, a := range []*testResponse{
		w.do("POST", docs, text, key...).want(201), w.do("GET", docs+"/1", "", key...).want(200), w.do("PUT",
			docs+"/1", text, key...).want(200),
	} {
		if string(a.body) != text || a.header.Get("Etag") == "" {
			t.Errorf("%s: %s", a.what, a.body)
		}
	}
	w.do("GET", docs, "", key...).want(200).has("Documents", "["+text+"]")
	w.do("GET", docs+"/1", "", append(pk(`["a"]`), "x-ms-exclude-system-properties", "perhaps")...).fails(400,
		0, "x-ms-exclude-system-properties")
	full := func(a *testResponse) {
		t.Helper()
		for _, name := range []string{"_rid", "_self", "_etag", "_attachments", "_ts"} {
			if !a.at(name).Exists() {
				t.Errorf("%s: %s", a.what, a.body)
			}
		}
	}
	full(w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200))
	with := append(pk(`["a"]`), "x-ms-exclude-system-properties", "false")
	full(w.do("GET", docs+"/1", "", with...).want(200))
	const patch = `{"operations":[{"op":"set","path":"/n","value":1}]}`
	if a := w.do("PATCH", docs+"/1", patch, key...).want(200); string(a.body) != text {
		t.Errorf("%s", a.body)
	}
	full(w.do("PATCH", docs+"/1", patch, pk(`["a"]`)...).want(200))
	full(w.do("GET", docs+"/1", "", key...).want(200))
	full(w.do("POST", docs, `{"id":"2","pk":"a"}`, pk(`["a"]`)...).want(201))
	full(w.do("GET", docs+"/2", "", key...).want(200))
	if a := w.do("PUT", docs+"/2", text, key...).want(409); a.header.Get("Etag") != "" {
		t.Errorf("%v", a.header)
	}
	full(w.do("GET", docs+"/2", "", key...).want(200))
	list := w.do("GET", docs, "", key...).want(200)
	for _, one := range []string{"Documents.0._self", "Documents.1._self"} {
		if !list.at(one).Exists() {
			t.Errorf("%s", list.body)
		}
	}
}
