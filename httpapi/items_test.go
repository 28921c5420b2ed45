package httpapi

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestItemLifecycle(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	c := w.container("")
	key := pk(`["a"]`)
	made := w.do("POST", docs,
		`{"id":"1","pk":"a","n":1,"f":1.0,"z":[1,{"b":null}],"a":"é😀","_ts":5,"_etag":"x","_lsn":3}`, key...).want(201)
	rid := made.at("_rid").Str
	want := fmt.Sprintf(`{"id":"1","pk":"a","n":1,"f":1,"z":[1,{"b":null}],"a":"é😀","_rid":"%s","_self":"%sdocs/%s/","_etag":%s,"_attachments":"attachments/","_ts":%d}`,
		rid, c.at("_self").Str, rid, made.at("_etag").Raw, start.Unix())
	if string(made.body) != want {
		t.Errorf("created %s\nwant    %s", made.body, want)
	}
	made.head("etag", made.at("_etag").Str).head("x-ms-content-path",
		c.at("_rid").Str).head("x-ms-alt-content-path", "dbs/d/colls/c").
		head("x-ms-documentdb-partitionkeyrangeid", "0")
	if lsn := made.header.Get("Lsn"); lsn == "" ||
		made.header.Get("X-Ms-Session-Token") != w.token("0", lsn) {
		t.Errorf("lsn %q, session token %q", lsn, made.header.Get("X-Ms-Session-Token"))
	}
	w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).fails(409, 0,
		"already exists").head("x-ms-session-token", made.header.Get("X-Ms-Session-Token"))

	read := w.do("GET", docs+"/1", "", key...).want(200).head("x-ms-session-token",
		made.header.Get("X-Ms-Session-Token"))
	if string(read.body) != want {
		t.Errorf("read %s", read.body)
	}
	w.do("GET", docs+"/1", "", pk(`["b"]`)...).fails(404, 0,
		"https://aka.ms/cosmosdb-tsg-not-found").head("x-ms-content-path", "")
	w.do("GET", docs+"/1", "").fails(400, 0, "PartitionKey value must be supplied for this operation.")

	w.clock.Advance(5e9)
	replaced := w.do("PUT", docs+"/1", `{"id":"1","pk":"a","v":2}`, key...).want(200).has("v", "2").has("n",
		"").
		has("_rid", `"`+rid+`"`).has("_self", made.at("_self").Raw).has("_ts", fmt.Sprint(start.Unix()+5))
	if replaced.header.Get("Etag") == made.header.Get("Etag") {
		t.Error("a replace kept the etag")
	}
	w.do("PUT", docs+"/2", `{"id":"2","pk":"a"}`, key...).fails(404, 0, "Resource Not Found")
	renamed := w.do("PUT", docs+"/1", `{"id":"3","pk":"a"}`, key...).want(200).has("id", `"3"`).has("_rid",
		`"`+rid+`"`)
	w.do("GET", docs+"/1", "", key...).fails(404, 0, "Resource Not Found")
	w.do("GET", "/"+renamed.at("_self").Str, "", key...).want(200).has("id", `"3"`)
	w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(201)
	w.do("PUT", docs+"/3", `{"id":"1","pk":"a"}`, key...).fails(409, 0,
		"Resource with specified id or name already exists.")
	w.do("PUT", docs+"/none", `{"id":"4","pk":"a"}`, key...).fails(404, 0, "Resource Not Found")
	w.do("DELETE", docs+"/1", "", key...).want(204)
	w.do("PUT", docs+"/3", `{"id":"1","pk":"a"}`, key...).want(200)
	w.do("PUT", docs+"/1", `{"id":"1","pk":"b"}`, key...).fails(400, 1001, "")

	up := append(key, "x-ms-documentdb-is-upsert", "True")
	w.do("POST", docs, `{"id":"1","pk":"a","v":3}`, up...).want(200).has("_rid", `"`+rid+`"`)
	w.do("POST", docs, `{"id":"2","pk":"a","v":1}`, up...).want(201)
	// the same id under another key is another item
	w.do("POST", docs, `{"id":"1","pk":"b"}`, pk(`["b"]`)...).want(201)

	w.do("DELETE", docs+"/1", "", key...).want(204)
	w.do("DELETE", docs+"/1", "", key...).fails(404, 0, "Resource Not Found")
	if again := w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(201); again.at("_rid").Str == rid {
		t.Error("an item that was deleted and made again kept its rid")
	}
	w.do("GET", docs, "").want(200).has("_rid", c.at("_rid").Raw).has("_count", "3").head("x-ms-item-count",
		"3")
}

func TestPreferMinimalResponse(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	h := append(pk(`["a"]`), "Prefer", "return=minimal")
	minimal := func(a *testResponse, code int) {
		t.Helper()
		if a.want(code); len(a.body) > 0 || a.header.Get("Etag") == "" ||
			a.header.Get("X-Ms-Session-Token") == "" || a.header.Get("Lsn") == "" {
			t.Errorf("%s: %v %s", a.what, a.header, a.body)
		}
	}
	minimal(w.do("POST", docs, `{"id":"1","pk":"a"}`, h...), 201)
	minimal(w.do("POST", docs, `{"id":"1","pk":"a"}`, append(h, "x-ms-documentdb-is-upsert", "true")...), 200)
	minimal(w.do("PUT", docs+"/1", `{"id":"1","pk":"a"}`, h...), 200)
	w.do("GET", docs+"/1", "", h...).want(200).has("id", `"1"`)
	w.do("POST", docs, `{"id":"1","pk":"a"}`, h...).fails(409, 0, "already exists")
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	with := func(name, value string, more ...string) []string {
		return append(append(pk(`["a"]`), name, value), more...)
	}
	body := `{"id":"1","pk":"a"}`
	e1 := w.do("POST", docs, body, with("If-Match", `"ignored"`)...).want(201).header.Get("Etag")

	for _, same := range []string{e1, strings.Trim(e1, `"`), "W/" + e1, "*"} {
		a := w.do("GET", docs+"/1", "", with("If-None-Match", same)...).want(304).head("etag", e1)
		if len(a.body) > 0 || a.header.Get("X-Ms-Session-Token") == "" {
			t.Errorf("304 with %v %s", a.header, a.body)
		}
	}
	w.do("GET", docs+"/1", "", with("If-None-Match", `"other"`)...).want(200)
	w.do("GET", docs+"/2", "", with("If-None-Match", `*`)...).fails(404, 0, "")

	e2 := w.do("PUT", docs+"/1", body, with("If-Match", e1)...).want(200).header.Get("Etag")
	const unmet = "One of the specified pre-condition is not met"
	w.do("PUT", docs+"/1", body, with("If-Match", e1)...).fails(412, 0, unmet)
	w.do("POST", docs, body, with("If-Match", e1, "x-ms-documentdb-is-upsert", "true")...).fails(412, 0,
		unmet)
	w.do("DELETE", docs+"/1", "", with("If-Match", e1)...).fails(412, 0, unmet)
	w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200).head("etag", e2)

	w.do("PUT", docs+"/1", body, with("If-Match", "*")...).want(200)
	w.do("POST", docs, body, with("If-None-Match", "*", "x-ms-documentdb-is-upsert", "true")...).fails(412, 0,
		unmet)
	w.do("POST", docs, `{"id":"9","pk":"a"}`, with("If-Match", e1, "x-ms-documentdb-is-upsert",
		"true")...).want(201)
	w.do("PUT", docs+"/none", `{"id":"none","pk":"a"}`, with("If-Match", e1)...).fails(404, 0, "")
	e3 := w.do("GET", docs+"/1", "", pk(`["a"]`)...).header.Get("Etag")
	w.do("DELETE", docs+"/1", "", with("If-Match", e3)...).want(204)
}

func TestItemIDs(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	key := pk(`["a"]`)
	for _, id := range []string{"plain", "in side", " leading", "trailing ", "tab\tinside", "cr\rlf\n", "?",
		"a?b=c", "%20", "%", "100%", "a/b", "/", "//",
		"#", "a#b", "a+b", "Päth", "名前", "😀", ";:@&=$,!*'()", `"quoted"`, "..", ".", "a/../b", "docs", "attachments", "Abc", "abc", strings.Repeat("x", 1023)} {
		quoted := jsonString(id)
		path := docs + "/" + url.PathEscape(id)
		w.do("POST", docs, `{"id":`+quoted+`,"pk":"a"}`, key...).want(201)
		read := w.do("GET", path, "", key...).want(200)
		if got := read.at("id").Str; got != id {
			t.Errorf("read %q as %q", id, got)
		}
		w.do("PUT", path, `{"id":`+quoted+`,"pk":"a","v":2}`, key...).want(200).has("v", "2")
		w.do("DELETE", path, "", key...).want(204)
		w.do("GET", path, "", key...).fails(404, 0, "")
	}
}

// TestBadItemIDs checks the error messages for invalid ids of items, databases and containers.
func TestBadItemIDs(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for id, text := range map[string]string{
		"":                        "Ensure to provide a unique non-empty string less than '1024' characters.",
		strings.Repeat("x", 1024): "Ensure to provide a unique non-empty string less than '1024' characters.",
		"a\x00b":                  "U+0000",
	} {
		w.do("POST", docs, `{"id":`+jsonString(id)+`,"pk":"a"}`, pk(`["a"]`)...).fails(400, 0, text)
	}
	w.do("POST", "/dbs", `{"id":"`+strings.Repeat("x", 256)+`"}`).fails(400, 0,
		"Ensure to provide a unique non-empty string less than '255' characters.")
	w.do("POST", "/dbs", `{"id":"`+strings.Repeat("x", 255)+`"}`).want(201)
	w.do("POST", colls, `{"id":"","partitionKey":{"paths":["/pk"]}}`).fails(400, 0,
		"Ensure to provide a unique non-empty string less than '255' characters.")
}

// TestUnescapedIDs checks that items can be addressed by clients that escape ids like JavaScript's
// encodeURI, which leaves '?' and '/' as they are.
func TestUnescapedIDs(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	key := append(pk(`["a"]`), "Authorization", "Bearer "+EmulatorKey)
	for _, id := range []string{"a?b", "a/b", "what?", "a?b=c&d"} {
		w.do("POST", docs, `{"id":"`+id+`","pk":"a"}`, key...).want(201)
		a := w.do("GET", docs+"/"+id, "", key...)
		if id == "what?" { // nothing follows the question mark: it never arrives
			a.fails(404, 0, "")
			continue
		}
		a.want(200).has("id", `"`+id+`"`)
	}
}

func TestRIDAddressing(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(4))
	c := w.container("")
	var selves []string
	for i := range 8 {
		self := w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"key%d"}`, i, i)).want(201).at("_self").Str
		selves = append(selves, "/"+self)
	}
	key := func(i int) []string { return pk(fmt.Sprintf(`["key%d"]`, i)) }
	for i, self := range selves {
		w.do("GET", self, "", key(i)...).want(200).has("id", fmt.Sprintf(`"%d"`, i)).head("x-ms-content-path",
			c.at("_rid").Str)
		w.do("PUT", self, fmt.Sprintf(`{"id":"%d","pk":"key%d","v":2}`, i, i), key(i)...).want(200).has("v",
			"2")
	}
	if n := len(strings.Fields(strings.Join(w.pages("Documents", "GET", "/"+c.at("_self").Str+"docs", ""),
		" "))); n != 8 {
		t.Errorf("%d items", n)
	}
	w.do("DELETE", selves[3], "", key(3)...).want(204)
	w.do("GET", selves[3], "", key(3)...).fails(404, 0, "Resource Not Found")
	for _, bad := range []string{"x", "AAAA", url.PathEscape(c.at("_rid").Str)} {
		w.do("GET", "/"+c.at("_self").Str+"docs/"+bad, "", key(0)...).fails(400, 0, "resource id")
	}
}

func TestIntendedContainer(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	old := w.container("").at("_rid").Str
	h := append(pk(`["a"]`), "x-ms-cosmos-intended-collection-rid", old)
	w.do("POST", docs, `{"id":"1","pk":"a"}`, h...).want(201)
	w.do("DELETE", coll, "").want(204)
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a"}`, h...).fails(400, 1024, "")
	w.do("GET", docs, "", h...).fails(400, 1024, "")
	w.do("GET", coll, "", h...).want(200)
	w.do("GET", docs, "").want(200).has("_count", "0")
}

func TestSessions(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	made := w.do("POST", docs, `{"id":"1","pk":"a"}`, pk(`["a"]`)...).want(201)
	token := made.header.Get("X-Ms-Session-Token")
	read := func(token string) *testResponse {
		t.Helper()
		return w.do("GET", docs+"/1", "", append(pk(`["a"]`), "x-ms-session-token", token)...)
	}
	read(token).want(200).head("x-ms-session-token", token)
	read("7:-1#99999999," + token).want(200)
	ahead := "0:-1#" + made.header.Get("Lsn") + "0"
	read(ahead).fails(404, 1002, "The read session is not available").head("x-ms-session-token", token)
	w.do("GET", docs, "", "x-ms-session-token", ahead).fails(404, 1002, "")
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders("x-ms-session-token", ahead)...).fails(404, 1002, "")
	for _, bad := range []string{"x", "0:", "0:x", "0:-1#x", ":-1#5"} {
		read(bad).fails(400, 0, "")
	}
}

func TestDeletePartition(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for i := range 5 {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"a"}`, i)).want(201)
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"b"}`, i)).want(201)
	}
	path := coll + "/operations/partitionkeydelete"
	w.do("POST", path, "").fails(400, 0, "")
	if a := w.do("POST", path, "", pk(`["a"]`)...).want(200); len(a.body) > 0 {
		t.Errorf("body %s", a.body)
	}
	w.do("GET", docs, "").want(200).has("_count", "5")
	w.do("GET", docs+"/1", "", pk(`["a"]`)...).fails(404, 0, "")
	w.do("POST", docs, `{"id":"1","pk":"a"}`).want(201)
	w.do("GET", docs, "", pk(`["a"]`)...).want(200).has("_count", "1")
	w.do("POST", path, "", pk(`["none"]`)...).want(200)
}

func TestUniqueKeys(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container(`"partitionKey":{"paths":["/pk"],"version":2},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}`)
	const taken = "Resource with specified id, name, or unique index already exists."
	w.do("POST", docs, `{"id":"1","pk":"a","u":"x"}`).want(201)
	w.do("POST", docs, `{"id":"2","pk":"a","u":"x"}`).fails(409, 0, taken)
	w.do("POST", docs, `{"id":"2","pk":"a","u":"x"}`, "x-ms-documentdb-is-upsert", "true").fails(409, 0, taken)
	w.do("POST", docs, `{"id":"2","pk":"b","u":"x"}`).want(201)
	w.do("POST", docs, `{"id":"2","pk":"a","u":"X"}`).want(201)
	w.do("PUT", docs+"/2", `{"id":"2","pk":"a","u":"x"}`, pk(`["a"]`)...).fails(409, 0, taken)
	w.do("PUT", docs+"/1", `{"id":"1","pk":"a","u":"x","v":1}`, pk(`["a"]`)...).want(200)
	w.do("DELETE", docs+"/1", "", pk(`["a"]`)...).want(204)
	w.do("PUT", docs+"/2", `{"id":"2","pk":"a","u":"x"}`, pk(`["a"]`)...).want(200)
}
