package httpapi

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

// fault adds a fault injection rule, given as JSON, and returns its id.
func (w *serverUnderTest) fault(rule string) string {
	w.t.Helper()
	return w.do("POST", "/_mayfly/faults", rule).want(201).at("id").Str
}

// TestFaultStatuses checks for each injected status the substatus, code, message and headers of the
// response. Each rule applies once; the next request succeeds.
func TestFaultStatuses(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	key := pk(`["a"]`)
	w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(201)
	for _, c := range []struct {
		fault, more        string
		status, substatus  int
		code, retry, words string
	}{
		{"429", "", 429, 3200, "TooManyRequests", "100", "Request rate is large"},
		{"429", `,"retryAfterMs":7,"substatus":3092`, 429, 3092, "TooManyRequests", "7", "on demand"},
		{"449", "", 449, 0, "RetryWith", "", "Retry to avoid conflicts"},
		{"410", "", 410, 1002, "Gone", "", "no longer available"},
		{"410", `,"substatus":1007`, 410, 1007, "Gone", "", "no longer available"},
		{"503", "", 503, 0, "ServiceUnavailable", "", "unavailable"},
		{"408", "", 408, 0, "RequestTimeout", "", "timed out"},
	} {
		id := w.fault(`{"fault":"` + c.fault + `","count":1` + c.more + `}`)
		a := w.do("GET", docs+"/1", "", key...).fails(c.status, c.substatus, c.words).
			has("code", `"`+c.code+`"`).head("x-mayfly-fault", id).head("x-ms-retry-after-ms", c.retry)
		if a.header.Get("X-Ms-Session-Token") != "" {
			t.Errorf("%s: the answer has a session token", a.what)
		}
		w.do("GET", docs+"/1", "", key...).want(200).head("x-mayfly-fault", "")
	}
}

// TestFaultBeforeAndAfter checks that a fault before an operation prevents the write, and that a fault
// after it keeps the write but sends an error without etag and session token. So a program can test its
// retries.
func TestFaultBeforeAndAfter(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	key := pk(`["a"]`)
	w.fault(`{"fault":"503","operations":["createItem"],"count":1}`)
	w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).fails(503, 0, "")
	w.do("GET", docs+"/1", "", key...).fails(404, 0, "")

	w.fault(`{"fault":"408","operations":["createItem"],"count":1,"when":"after"}`)
	a := w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).fails(408, 0, "")
	for _, told := range []string{"Etag", "X-Ms-Session-Token", "X-Ms-Item-Count"} {
		if a.header.Get(told) != "" {
			t.Errorf("the answer has %s", told)
		}
	}
	w.do("GET", docs+"/1", "", key...).want(200)
	w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).fails(409, 0, "")
}

// TestFaultRuleSelection checks which requests a fault rule selects by container and operation, whether the
// container is addressed by name or by rid. Requests for definitions and for Mayfly's own API are selected
// only explicitly.
func TestFaultRuleSelection(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.do("POST", "/dbs/d/colls", `{"id":"e","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}`).
		want(201)
	key := pk(`["a"]`)
	made := w.do("POST", docs, `{"id":"1","pk":"a"}`, key...).want(201)
	self := "/" + w.do("GET", coll, "").want(200).at("_self").Str
	w.fault(`{"fault":"429","database":"d","container":"c"}`)
	for path, status := range map[string]int{docs + "/1": 429, docs: 429, "/" + made.at("_self").Str: 429,
		"/dbs/d/colls/e/docs": 200, "/dbs/d/colls/e/docs/1": 404, coll: 200, self + "pkranges": 200,
		"/": 200, "/dbs": 200, "/_mayfly/clock": 200} {
		w.do("GET", path, "", key...).want(status)
	}
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders()...).want(429)
	w.do("DELETE", "/_mayfly/faults", "").want(204)

	w.fault(`{"fault":"503","operations":["metadata"]}`)
	for path, status := range map[string]int{docs + "/1": 200, coll: 503, "/": 503, "/dbs": 503,
		coll + "/pkranges": 503, "/_mayfly/clock": 200} {
		w.do("GET", path, "", key...).want(status)
	}
	w.do("DELETE", "/_mayfly/faults", "").want(204)

	w.fault(`{"fault":"410","operations":["queryItems","listItems","changeFeed","batch","executeSproc"]}`)
	w.do("GET", docs+"/1", "", key...).want(200)
	w.do("GET", docs, "", key...).want(410)
	w.do("GET", docs, "", append(key, "A-IM", "Incremental feed")...).want(410)
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders()...).want(410)
	w.do("POST", docs, `[]`, append(key, "x-ms-cosmos-is-batch-request", "True")...).want(410)
	w.do("POST", coll+"/sprocs/s", `[]`, key...).want(410)
	w.do("POST", coll+"/sprocs", `{"id":"s","body":"function f(){}"}`).want(201)
}

// TestFaultSeed checks that a fault rule for a random share of the requests selects the same requests each
// time it is added with the same seed.
func TestFaultSeed(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	run := func() (hit string) {
		id := w.fault(`{"fault":"429","operations":["readItem"],"share":0.4,"seed":42}`)
		for range 50 {
			hit += strconv.Itoa(w.do("GET", docs+"/x", "", pk(`["a"]`)...).code) + " "
		}
		w.do("DELETE", "/_mayfly/faults/"+id, "").want(204)
		return hit
	}
	if a, b := run(), run(); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

// TestFaultDrop checks that the fault "drop" closes the connection without a response, and that the write
// is stored or not, depending on whether the fault is after or before the operation.
func TestFaultDrop(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	base, _ := w.listen()
	second := new(http.Protocols)
	second.SetUnencryptedHTTP2(true)
	clients := map[string]*http.Client{"1": {Transport: &http.Transport{}},
		"2": {Transport: &http.Transport{Protocols: second}}}
	for _, c := range clients {
		t.Cleanup(c.CloseIdleConnections)
	}
	create := func(client *http.Client, id string) error {
		r := w.request("POST", docs, `{"id":"`+id+`","pk":"a"}`, pk(`["a"]`)...)
		out, err := http.NewRequestWithContext(t.Context(), "POST", base+docs, r.Body)
		if err != nil {
			return err
		}
		out.Header = r.Header
		res, err := client.Do(out)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	for version, client := range clients {
		for when, there := range map[string]int{"before": 404, "after": 200} {
			w.fault(`{"fault":"drop","operations":["createItem"],"count":1,"when":"` + when + `"}`)
			if err := create(client, when+version); err == nil {
				t.Errorf("HTTP/%s, %s: there is an answer", version, when)
			}
			w.do("GET", docs+"/"+when+version, "", pk(`["a"]`)...).want(there)
		}
		if err := create(client, "whole"+version); err != nil {
			t.Errorf("HTTP/%s: %v", version, err)
		}
	}
}

// TestFaultLatency checks that injected latency is measured by the wall clock and included in the header
// x-ms-request-duration-ms.
func TestFaultLatency(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	w.fault(`{"fault":"latency","latencyMs":40,"operations":["readItem"]}`)
	w.fault(`{"fault":"429","latencyMs":2,"operations":["readItem"],"when":"after"}`)
	done := make(chan *testResponse)
	go func() { done <- w.do("GET", docs+"/x", "", pk(`["a"]`)...) }()
	for waited := 0; ; waited++ { // it waits once before the operation, and once behind it
		select {
		case a := <-done:
			took, err := strconv.ParseFloat(a.fails(429, 3200, "").header.Get("X-Ms-Request-Duration-Ms"), 64)
			if err != nil || took < 42 || waited < 42 {
				t.Errorf("it took %v ms of %d: %v", took, waited, err)
			}
			return
		default:
			w.wall.Advance(time.Millisecond)
		}
	}
}
