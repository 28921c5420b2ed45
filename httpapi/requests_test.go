package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/internal/rntbdtest"
)

// recorded configures a test server to keep a log of requests.
func recorded(s *serverUnderTestOptions) { s.server.Requests = requestlog.New(requestlog.MinMemory) }

// log returns the entries of the log of requests, read through the API. query is the query string of the
// request.
func (w *serverUnderTest) log(query string) []gjson.Result {
	w.t.Helper()
	return w.do("GET", "/_mayfly/requests"+query, "").want(200).at("requests").Array()
}

// formatMembers returns the values of the named members of each entry of the log, one entry a line.
func formatMembers(list []gjson.Result, members ...string) string {
	var b strings.Builder
	for _, r := range list {
		for i, m := range members {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(r.Get(m).String())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestRequestsOverHTTP checks the log entry of an HTTP request: what was sent, what was returned, and the
// charge.
func TestRequestsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, recorded)
	w.container("")
	w.do("DELETE", "/_mayfly/requests", "").want(204)
	key := append(pk(`["a"]`), "User-Agent", "sdk/1.2", "X-Ms-Version", "2020-07-15")
	w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(201)
	read := w.do("GET", docs+"/1", "", key...).want(200)
	missing := w.do("GET", docs+"/2", "", key...).want(404)
	w.do("POST", docs, `{"query":"SELECT * FROM c WHERE c.pk = 'a'"}`, append(key,
		"X-Ms-Documentdb-Isquery", "True",
		"Content-Type", "application/query+json")...).want(200)
	w.do("GET", docs+"/1", "", append(key, "Authorization", "type=master&ver=1.0&sig=x")...).want(401)

	list := w.log("")
	want := "create_item createItem d c  [\"a\"] 201 sdk/1.2 2020-07-15\n" +
		"read_item readItem d c 1 [\"a\"] 200 sdk/1.2 2020-07-15\n" +
		"read_item readItem d c 2 [\"a\"] 404 sdk/1.2 2020-07-15\n" +
		"query_items queryItems d c  [\"a\"] 200 sdk/1.2 2020-07-15\n" +
		"read_item readItem d c 1 [\"a\"] 401 sdk/1.2 2020-07-15\n"
	if got := formatMembers(list, "operation", "faultOperation", "database", "container", "item",
		"partitionKey",
		"status",
		"client", "version"); got != want {
		t.Fatalf("%s\nnot\n%s", got, want)
	}
	one := list[1]
	if one.Get("time").Str != "2027-03-01T12:00:00Z" || one.Get("charge").Num <= 0 ||
		one.Get("protocol").Str != "http" ||
		one.Get("bytesOut").Int() != int64(len(read.body)) || one.Get("path").Str != docs+"/1" ||
		one.Get("activityId").Str != read.header.Get("X-Ms-Activity-Id") {
		t.Errorf("%s", one.Raw)
	}
	d := w.do("GET", "/_mayfly/requests/"+one.Get("id").String(), "").want(200)
	if got := d.at("responseBody.text").Str; got != string(read.body) || d.at("requestBody").Exists() {
		t.Errorf("%s", d.body)
	}
	head := d.at(`requestHeaders.#(name=="Authorization").value`).Str
	if !strings.HasSuffix(head, "sig%3D***") || !strings.Contains(head, "master") {
		t.Errorf("authorization %q", head)
	}
	if etag := d.at(`responseHeaders.#(name=="etag").value`).Str; etag == "" ||
		etag != read.header.Get("Etag") {
		t.Errorf("%s", d.body)
	}
	if charge := d.at(`responseHeaders.#(name=="x-ms-request-charge").value`).Str; charge !=
		fmt.Sprint(one.Get("charge").Num) {
		t.Errorf("%s", d.body)
	}
	w.sameHead(list[1], read)
	w.sameHead(list[2], missing)
	asked := w.do("GET", "/_mayfly/requests/"+list[3].Get("id").String(), "").want(200)
	if asked.at("requestBody.text").Str != `{"query":"SELECT * FROM c WHERE c.pk = 'a'"}` {
		t.Errorf("%s", asked.body)
	}
	created := w.do("GET", "/_mayfly/requests/"+list[0].Get("id").String(), "").want(200)
	if created.at("requestBody.text").Str != `{"id":"1","pk":"a"}` {
		t.Errorf("%s", created.body)
	}
}

// sameHead checks that a log entry has all headers of a response, each once.
func (w *serverUnderTest) sameHead(entry gjson.Result, a *testResponse) {
	w.t.Helper()
	d := w.do("GET", "/_mayfly/requests/"+entry.Get("id").String(), "").want(200)
	got := make(map[string]string)
	for _, h := range d.at("responseHeaders").Array() {
		name := strings.ToLower(h.Get("name").Str)
		if _, twice := got[name]; twice {
			w.t.Errorf("%s: twice %s", a.what, name)
		}
		got[name] = h.Get("value").Str
	}
	for name, values := range a.header {
		if name = strings.ToLower(name); got[name] != values[0] {
			w.t.Errorf("%s: %s is %q, not %q", a.what, name, got[name], values[0])
		}
		delete(got, name)
	}
	if len(got) > 0 {
		w.t.Errorf("%s: headers that were not sent: %v", a.what, got)
	}
}

// TestRequestsNotLogged checks that health checks, the explorer's files and reads of the log are not logged,
// and that requests of the explorer are listed only on demand.
func TestRequestsNotLogged(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, recorded)
	w.container("")
	w.do("DELETE", "/_mayfly/requests", "").want(204)
	for _, path := range []string{"/_mayfly/livez", "/_mayfly/readyz", "/_mayfly/metrics",
		"/_mayfly/requests",
		"/_mayfly/requests.har", "/_mayfly/requests/7", "/_explorer/", "/_explorer/docs/"} {
		w.raw(path)
	}
	w.do("GET", "/dbs/d", "", "X-Mayfly-Explorer", "1").want(200)
	w.do("GET", "/_mayfly/clock", "").want(200)
	w.do("GET", "/nothing", "").want(404)
	if got := formatMembers(w.log(""), "method", "path",
		"status"); got != "GET /_mayfly/clock 200\nGET /nothing 404\n" {
		t.Errorf("%s", got)
	}
	if got := formatMembers(w.log("?explorer=true"), "path", "explorer"); !strings.HasPrefix(got,
		"/dbs/d true\n") {
		t.Errorf("%s", got)
	}
	none := newServerUnderTest(t)
	none.do("GET", "/_mayfly/requests", "").fails(404, 0, "keeps no log")
	none.do("GET", "/_mayfly/requests/1", "").fails(404, 0, "keeps no log")
	none.do("DELETE", "/_mayfly/requests", "").fails(404, 0, "keeps no log")
}

// TestRequestsHoldNoSecrets checks that the log of requests masks resource tokens, and keys that a client
// has sent by mistake.
func TestRequestsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, recorded)
	w.container("")
	w.do("POST", "/dbs/d/users", `{"id":"u"}`).want(201)
	made := w.do("POST", "/dbs/d/users/u/permissions",
		`{"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"}`).want(201)
	token := made.at("_token").Str
	w.do("GET", "/dbs/d/users/u/permissions", "").want(200)
	r := w.request("GET", docs+"/1", "", pk(`["a"]`)...)
	r.Header.Set("Authorization", token)
	w.send(r).want(404)
	_, secret, _ := strings.Cut(token, "sig=")
	for _, one := range w.log("?limit=10000") {
		d := w.do("GET", "/_mayfly/requests/"+one.Get("id").String(), "").want(200)
		for _, s := range []string{secret, secret[:20], EmulatorKey} {
			if strings.Contains(string(d.body), s) {
				t.Errorf("%s", d.body)
			}
		}
	}
	if len(secret) < 20 {
		t.Fatal(token)
	}
}

// TestErrorsHoldNoSecrets checks that errors and the log name a request by its path without its query
// string, which may contain secrets.
func TestErrorsHoldNoSecrets(t *testing.T) {
	w := newServerUnderTest(t)
	const secret = "c2VjcmV0IG9mIGEgcmVxdWVzdA"
	for _, name := range []string{"sig", "authorization", "Token", "key"} {
		body := string(w.do("GET", "/dbs/none?a=b&"+name+"="+secret, "").want(404).body)
		if strings.Contains(body, secret) || !strings.Contains(body, name+"=***") {
			t.Errorf("%s", body)
		}
	}
}

// TestRequestsRetried checks that the log groups the attempts of a retried operation, with the injected
// fault that each attempt met.
func TestRequestsRetried(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, recorded)
	w.container("")
	key := pk(`["a"]`)
	id := w.fault(`{"fault":"429","count":2,"operations":["createItem"]}`)
	w.do("DELETE", "/_mayfly/requests", "").want(204)
	for _, status := range []int{429, 429, 201} {
		w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(status)
		w.wall.Advance(time.Second)
	}
	w.do("POST", docs, `{"id":"2","pk":"a"}`, key...).want(201)
	list := w.log("")
	if got, want := formatMembers(list, "status", "substatus", "fault", "attempt"),
		"429 3200 "+id+" 1\n429 3200 "+id+" 2\n201   3\n201   1\n"; got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	first := list[0].Get("id").Int()
	if list[1].Get("first").Int() != first || list[2].Get("first").Int() != first ||
		list[3].Get("first").Int() == first {
		t.Errorf("%s", formatMembers(list, "id", "first"))
	}
	d := w.do("GET", "/_mayfly/requests/"+list[2].Get("id").String(), "").want(200)
	if d.at("attempt").Int() != 3 || d.at("first").Int() != first {
		t.Errorf("%s", d.body)
	}
}

func TestRequestsFiltered(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, recorded)
	w.container("")
	key := pk(`["a"]`)
	w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(201)
	w.do("GET", docs+"/none", "", key...).want(404)
	w.wall.Advance(time.Hour)
	w.do("GET", docs+"/1", "", key...).want(200)
	for query, want := range map[string]string{
		"?status=404": "404\n", "?status=4xx": "404\n", "?status=failed": "404\n", "?text=NONE": "404\n",
		"?since=5m": "200\n", "?since=2027-03-01T12:30:00Z": "200\n", "?method=get&container=c": "404\n200\n",
		"?container=d/c&limit=1": "200\n", "?container=other/c": "", "?protocol=amqp": "", "?entity=q": "",
		"?substatus=1": "", "?minMs=1": "",
	} {
		if got := formatMembers(w.log(query), "status"); got != want {
			t.Errorf("%s: %q, not %q", query, got, want)
		}
	}
	for _, query := range []string{"?status=9xx", "?status=x", "?protocol=tcp", "?since=soon",
		"?explorer=maybe",
		"?limit=0", "?limit=10001", "?after=-1", "?color=red", "?minMs=x"} {
		w.do("GET", "/_mayfly/requests"+query, "").want(400)
	}
	w.do("GET", "/_mayfly/requests/x", "").want(400)
	w.do("GET", "/_mayfly/requests/0", "").want(400)
	w.do("GET", "/_mayfly/requests", "", "Last-Event-Id", "x").want(400)
	page := w.do("GET", "/_mayfly/requests?after=1&limit=2", "").want(200)
	if page.at("requests.#").Int() != 2 || page.at("position").Int() != 3 || page.at("lost").Bool() {
		t.Errorf("%s", page.body)
	}
}

// TestRequestsInDirectMode checks that a direct-mode request is logged as the equivalent HTTP request, and
// that one without an equivalent is logged, too.
func TestRequestsInDirectMode(t *testing.T) {
	t.Parallel()
	w := newDirectModeTestServer(t, recorded)
	w.container()
	w.do("DELETE", "/_mayfly/requests", "").want(204)
	l := w.dial()
	l.want(201, 0, "create", "", `{"id":"1","pk":"a"}`, keyA)
	l.want(200, 0, "read", "1", "", keyA)
	forged := rntbdtest.Frame(3, 0x7777, [16]byte{5}, nil, rntbdtest.Number(0x4D, 7))
	if _, err := l.c.Write(forged); err != nil {
		t.Fatal(err)
	}
	if a, err := rntbdtest.Read(l.c); err != nil || a.Status != 405 {
		t.Fatalf("%+v %v", a, err)
	}
	list := w.log("?protocol=direct")
	want := "create_item d c  201\nread_item d c 1 200\n    405\n"
	if got := formatMembers(list, "operation", "database", "container", "item", "status"); got != want {
		t.Fatalf("%s\nnot\n%s", got, want)
	}
	if list[0].Get("client").Str == "" || list[0].Get("partitionKey").Str != `["a"]` {
		t.Errorf("%s", list[0].Raw)
	}
	d := w.serverUnderTest.do("GET", "/_mayfly/requests/"+list[0].Get("id").String(), "").want(200)
	if d.at("requestBody.text").Str != `{"id":"1","pk":"a"}` ||
		!strings.Contains(d.at("responseBody.text").Str, "_etag") ||
		!strings.HasSuffix(d.at(`requestHeaders.#(name=="Authorization").value`).Str, "***") {
		t.Errorf("%s", d.body)
	}
}

// TestRequestsDropped checks that a request whose connection was dropped by an injected fault is logged
// with no status.
func TestRequestsDropped(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, recorded)
	w.container("")
	base, _ := w.listen()
	id := w.fault(`{"fault":"drop","count":1}`)
	r, err := http.NewRequestWithContext(t.Context(), "GET", base+docs+"/1", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.sign(r)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if res, err := client.Do(r); err == nil {
		res.Body.Close()
		t.Fatal(res.Status)
	}
	if got := formatMembers(w.log("?text="+docs), "status", "fault", "bytesOut"); got != "0 "+id+" 0\n" {
		t.Error(got)
	}
}

// requestStream opens the stream of new entries of the log of requests and returns a reader of its lines.
func (w *serverUnderTest) requestStream(ctx context.Context, base, query string) *bufio.Reader {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", base+"/_mayfly/requests"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sign(r)
	r.Header.Set("Accept", "text/event-stream")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatal(res.Status)
	}
	return bufio.NewReader(res.Body)
}

// nextRequest returns the next entry on a stream of the log of requests.
func nextRequest(t *testing.T, in *bufio.Reader) gjson.Result {
	t.Helper()
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			return gjson.Parse(text)
		}
	}
}

// TestRequestsStreamed checks that new log entries are streamed as they are added, and that a client which
// does not read its stream does not delay other requests.
func TestRequestsStreamed(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, recorded)
	w.container("")
	base, _ := w.listen()
	key := pk(`["a"]`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow := w.requestStream(ctx, base, "")
	live := w.requestStream(ctx, base, "?text="+docs)
	w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(201)
	if r := nextRequest(t, live); r.Get("status").Int() != 201 || r.Get("operation").Str != "create_item" {
		t.Errorf("%s", r.Raw)
	}
	for range 3000 { // more than the buffers of a connection hold, and than the log keeps
		w.do("GET", docs+"/1", "", key...)
	}
	if r := nextRequest(t, slow); r.Get("id").Int() != 1 {
		t.Errorf("%s", r.Raw)
	}
	last := w.do("GET", "/_mayfly/requests?limit=1", "").want(200)
	if last.at("requests.0.status").Int() != 200 || last.at("position").Int() < 3000 {
		t.Errorf("%s", last.body)
	}
	come := make(chan *testResponse)
	at := last.at("position").String()
	go func() { come <- w.do("GET", "/_mayfly/requests?wait=60&after="+at, "") }()
	w.do("GET", docs+"/late", "", key...).want(404)
	if a := <-come; a.at("requests.0.status").Int() != 404 {
		t.Errorf("%s", a.body)
	}
}
