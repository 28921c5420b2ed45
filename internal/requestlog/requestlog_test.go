package requestlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

func entry(n int) *Entry {
	return &Entry{Began: start.Add(time.Duration(n) * time.Second), Took: 3 * time.Millisecond,
		DataTime: start.AddDate(1, 0, 0), Protocol: HTTP, Method: "GET",
		URI:       fmt.Sprintf("/dbs/d/colls/c/docs/%d", n),
		Operation: "read_item", FaultOperation: "readItem", Database: "d", Container: "c",
		Item:   fmt.Sprint(n),
		Status: 200, Charge: 1.25, In: 7, Out: 12, Activity: "a",
		RequestHeader:  http.Header{"X-Ms-Version": {"2020-07-15"}, "User-Agent": {"sdk/1"}},
		ResponseHeader: http.Header{"etag": {`"1"`}}, RequestBody: []byte("request"),
		ResponseBody: []byte(`{"id":"one"}`)}
}

// TestEntry checks that Find returns an entry with all values with which it was added.
func TestEntry(t *testing.T) {
	l := New(MinMemory)
	e := entry(1)
	e.RequestHeader.Set("X-Ms-Documentdb-Partitionkey", `["a"]`)
	e.RequestHeader.Set("X-Ms-Cosmos-Correlated-Activityid", "q")
	e.Substatus, e.Retry, e.Rule, e.Explorer = 3200, time.Second, "f1", true
	l.Add(e)
	r := l.Find(1)
	if r == nil {
		t.Fatal("it is not there")
	}
	if r.ID != 1 || !r.Began.Equal(e.Began) || r.Took != e.Took || !r.DataTime.Equal(e.DataTime) ||
		r.URI != e.URI ||
		r.Operation != e.Operation || r.FaultOperation != e.FaultOperation || r.Container != "c" ||
		r.Charge != 1.25 ||
		r.In != 7 || r.Out != 12 || r.Substatus != 3200 || r.Retry != time.Second || r.Rule != "f1" ||
		!r.Explorer {
		t.Errorf("%+v", r)
	}
	if r.Client != "sdk/1" || r.Version != "2020-07-15" || r.PartitionKey != `["a"]` || r.Correlated != "q" ||
		len(r.Request) != 4 || !slices.Equal(r.Response, []HeaderField{{"etag", `"1"`}}) {
		t.Errorf("%+v", r)
	}
	if string(r.RequestBody) != "request" || string(r.ResponseBody) != `{"id":"one"}` || r.ResponseCut {
		t.Errorf("%q %q", r.RequestBody, r.ResponseBody)
	}
	if l.Find(2) != nil || l.Find(0) != nil {
		t.Error("there is one that was never added")
	}
}

// TestNoLog checks that New returns nil for too little memory, and that a nil log does nothing.
func TestNoLog(t *testing.T) {
	l := New(MinMemory - 1)
	if l != nil {
		t.Fatal("a log without memory")
	}
	l.Add(entry(1))
	l.Clear()
	if most, _ := l.Memory(); most != 0 || l.Find(1) != nil {
		t.Error("it keeps something")
	}
}

// TestReader checks which entries readers get, that Wait ends when one is added, and the effect of Clear.
func TestReader(t *testing.T) {
	l := New(MinMemory)
	idle := l.Read(0, Filter{})
	for i := range 3 {
		l.Add(entry(i))
	}
	r := l.Read(2, Filter{})
	if list, lost := r.Next(); len(list) != 1 || list[0].ID != 3 || lost {
		t.Fatalf("%v %v", list, lost)
	}
	ctx, cancel := context.WithCancel(t.Context())
	come := make(chan error)
	go func() { come <- r.Wait(ctx) }()
	l.Add(entry(4))
	if err := <-come; err != nil {
		t.Fatal(err)
	}
	if list, _ := r.Next(); len(list) != 1 || r.Position() != 4 {
		t.Fatalf("%v", list)
	}
	go func() { come <- r.Wait(ctx) }()
	cancel()
	if err := <-come; err == nil {
		t.Error("it waits for nobody")
	}
	l.Clear()
	if list, _ := l.Read(0, Filter{}).Next(); len(list) != 0 || l.Find(4) != nil {
		t.Error("it is not clear")
	}
	l.Add(entry(5))
	if list, _ := idle.Next(); len(list) != 1 || list[0].ID != 5 {
		t.Errorf("%v", list)
	}
	if list, lost := l.Read(1000, Filter{}).Next(); len(list) != 1 || !lost {
		t.Error("a position of an earlier start is the beginning")
	}
}

// TestSecrets adds entries with all forms of secrets in headers, URIs and bodies, and searches the log's
// memory for them: it must contain none.
func TestSecrets(t *testing.T) {
	const secret = "S3cr3tS3cr3tS3cr3t"
	l := New(MinMemory)
	for _, value := range []string{
		"type=master&ver=1.0&sig=" + secret, "type%3Dmaster%26ver%3D1.0%26sig%3D" + secret,
		"type%3dresource%26ver%3d1%26sig%3d" + secret + "%3b" + secret, "type=resource&ver=1&sig=" +
			secret + ";" + secret + ";",
		"type=aad&ver=1.0&sig=eyJ." + secret + ".x", "SIG=" + secret + "&ver=1.0&sig=" + secret,
		"SharedAccessSignature sr=sb%3A%2F%2Fx&sig=" + secret + "%3D&se=1&skn=Root", "Bearer " + secret,
		"Basic " + secret,
		secret, secret + "&sig", "sig" + secret,
	} {
		for _, name := range []string{"Authorization", "authorization", "Proxy-Authorization", "Cookie",
			"Set-Cookie",
			"Servicebusauthorization", "ServiceBusSupplementaryAuthorization"} {
			e := entry(1)
			e.RequestHeader[name], e.ResponseHeader[name] = []string{value, value}, []string{value}
			l.Add(e)
		}
	}
	for _, query := range []string{"sig=", "a=b&Authorization=", "token=", "key=", "access_token=",
		"password="} {
		e := entry(1)
		e.URI = "/x?" + query + secret + "&c=d"
		l.Add(e)
	}
	for _, body := range []string{
		`{"_token":"type=resource&ver=1&sig=` + secret + `;"}`, `{"permissions":[{"_token" : "` +
			secret + `\"` + secret + `"}]}`,
		`{"masterKey":"` + secret + `","key":"` + secret + `"}`, `<PrimaryKey>` + secret + `</PrimaryKey>`,
		`{"url":"https://x?sig=` + secret + `&se=1"}`,
		`Endpoint=sb://x;SharedAccessKeyName=Root;SharedAccessKey=` + secret + `;`,
		`AccountEndpoint=https://x;AccountKey=` + secret,
		"\x80" + secret,
	} {
		for _, kind := range []APIKind{Own, Secret} {
			e := entry(1)
			e.Kind, e.RequestBody, e.ResponseBody = kind, []byte(body), []byte(body)
			if body[0] < 0x80 { // the cut is inside of the secret
				e.ResponseBody = []byte(strings.Repeat(" ", MaxBody-20) + body)
			}
			l.Add(e)
			// Here it is inside of a secret that is longer than what is searched.
			e.RequestBody = bytes.ReplaceAll([]byte(body), []byte(secret), bytes.Repeat([]byte(secret), 3000))
			if e.ResponseBody = e.RequestBody; body[0] < 0x80 {
				e.ResponseBody = append(bytes.Repeat([]byte(" "), MaxBody-20), e.RequestBody...)
			}
			l.Add(e)
		}
	}
	for i := range l.shards {
		for _, b := range l.shards[i].blocks {
			for at := 0; ; {
				found := strings.Index(string(b.data[at:]), secret[:6])
				if found < 0 {
					break
				}
				t.Errorf("%q", b.data[max(at+found-80, 0):min(at+found+40, len(b.data))])
				at += found + 1
			}
		}
	}
	for value, want := range map[string]string{
		"type%3Dmaster%26ver%3D1.0%26sig%3Dabc%3D": "type%3Dmaster%26ver%3D1.0%26sig%3D***",
		"SharedAccessSignature sr=x&sig=abc&se=1":  "SharedAccessSignature sr=x&sig=***&se=1",
		"Bearer abc": "Bearer ***", "abc": "***",
	} {
		b := appendMasked(nil, value)
		n, size := binary.Uvarint(b)
		if got := string(b[size:]); got != want || int(n) != len(want) {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestRetryGrouping checks that the retries of a failed request, and no others, are grouped with it.
func TestRetryGrouping(t *testing.T) {
	type step struct {
		at     time.Duration
		status int
		change func(*Entry)
		want   string // attempt of first
	}
	same := func(*Entry) {}
	for name, steps := range map[string][]step{
		"a retry after 429": {{0, 429, same, "1 of 1"}, {2 * time.Second, 429, same, "2 of 1"},
			{3 * time.Second, 200, same, "3 of 1"}, {4 * time.Second, 200, same, "1 of 4"}},
		"after each status": {{0, 449, same, "1 of 1"}, {1, 408, same, "2 of 1"}, {2, 410, same, "3 of 1"},
			{3, 503, same, "4 of 1"}, {4, 0, same, "5 of 1"}, {5, 201, same, "6 of 1"}},
		"a failure for good": {{0, 404, same, "1 of 1"}, {1, 200, same, "1 of 2"}},
		"another item": {{0, 429, same, "1 of 1"}, {1, 200, func(e *Entry) { e.URI = "/other" },
			"1 of 2"}},
		"another body": {{0, 429, same, "1 of 1"}, {1, 200,
			func(e *Entry) { e.RequestBody = []byte("x") }, "1 of 2"}},
		"another page": {{0, 429, same, "1 of 1"},
			{1, 200, func(e *Entry) { e.RequestHeader.Set("X-Ms-Continuation", "2") }, "1 of 2"}},
		"another protocol": {{0, 429, same, "1 of 1"}, {1, 200,
			func(e *Entry) { e.Protocol = Direct }, "1 of 2"}},
		"too late": {{0, 429, func(e *Entry) { e.Activity = "b" }, "1 of 1"},
			{30 * time.Second, 200, same, "1 of 2"}},
		"the same activity later": {{0, 429, same, "1 of 1"}, {30 * time.Second, 200, same, "2 of 1"}},
		"as late as it was told": {{0, 429, func(e *Entry) { e.Activity, e.Retry = "b", time.Minute },
			"1 of 1"},
			{time.Minute, 200, same, "2 of 1"}},
		"others between": {{0, 429, same, "1 of 1"}, {1, 429, func(e *Entry) {
			e.Item, e.URI = "2",
				"/2"
		}, "1 of 2"},
			{2, 200, same, "2 of 1"}, {3, 200, func(e *Entry) { e.Item, e.URI = "2", "/2" }, "2 of 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(MinMemory)
			live := l.Read(0, Filter{})
			for i, s := range steps {
				e := entry(0)
				e.Began, e.Took, e.Status = start.Add(s.at), 0, s.status
				s.change(e)
				l.Add(e)
				list, _ := live.Next()
				late, _ := l.Read(uint64(i), Filter{}).Next() // begins behind the first attempts
				for _, r := range []*RetrievedEntry{list[0], late[0]} {
					if got := fmt.Sprintf("%d of %d", r.Attempt, r.First); got != s.want {
						t.Errorf("step %d: %s, not %s", i, got, s.want)
					}
				}
			}
		})
	}
}

// TestRetryGroupingLimit checks that an attemptGrouper remembers at most maxOpen failed requests.
func TestRetryGroupingLimit(t *testing.T) {
	f := newAttemptGrouper()
	for i := range 3 * maxOpen {
		r := &RetrievedEntry{Entry: *entry(i % 10)}
		r.Status, r.Item, r.URI = 429, fmt.Sprint(i), fmt.Sprint(i)
		f.add(r, f.key(r))
		if len(f.open) > maxOpen {
			t.Fatal(len(f.open))
		}
	}
}

func TestFilter(t *testing.T) {
	l := New(MinMemory)
	add := func(change func(*Entry)) {
		e := entry(1)
		change(e)
		l.Add(e)
	}
	add(func(e *Entry) {})
	add(func(e *Entry) { e.Status, e.Substatus, e.Took = 429, 3200, time.Second })
	add(func(e *Entry) {
		e.Protocol, e.Method, e.Entity, e.Database, e.Container = AMQP, "transfer", "Orders", "", ""
	})
	add(func(e *Entry) { e.Explorer = true })
	add(func(e *Entry) { e.Status, e.Began, e.Item = 0, start.Add(time.Hour), "Seven" })
	for _, c := range []struct {
		f    Filter
		want []uint64
	}{
		{Filter{}, []uint64{1, 2, 3, 5}}, {Filter{Explorer: true}, []uint64{1, 2, 3, 4, 5}},
		{Filter{Protocol: AMQP}, []uint64{3}}, {Filter{Method: "get"}, []uint64{1, 2, 5}},
		{Filter{Entity: "orders"}, []uint64{3}}, {Filter{Database: "d", Container: "c"}, []uint64{1, 2, 5}},
		{Filter{MinStatus: 429, MaxStatus: 429}, []uint64{2}}, {Filter{MinStatus: 200, MaxStatus: 299},
			[]uint64{1, 3}},
		{Filter{Failed: true}, []uint64{2, 5}}, {Filter{Substatus: 3200}, []uint64{2}},
		{Filter{Min: time.Second}, []uint64{2}}, {Filter{Since: start.Add(time.Minute)}, []uint64{5}},
		{Filter{Text: "sevEN"}, []uint64{5}}, {Filter{Text: "request"}, []uint64{1, 2, 3, 5}},
	} {
		list, _ := l.Read(0, c.f).Next()
		var got []uint64
		for _, r := range list {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, not %v", c.f, got, c.want)
		}
	}
}

// TestEntryEncoding checks that the encoding of any entry fits in a block and can be decoded.
func TestEntryEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 300, 9000)
		e := &Entry{Began: start, DataTime: start, Method: text.Draw(t, "method"), URI: text.Draw(t, "uri"),
			Item: text.Draw(t, "item"), RequestHeader: http.Header{},
			RequestBody: []byte(strings.Repeat("x", rapid.IntRange(0, 3*MaxBody).Draw(t, "body")))}
		for range rapid.IntRange(0, 40).Draw(t, "headers") {
			e.RequestHeader.Add(text.Draw(t, "name"), text.Draw(t, "value"))
		}
		b := appendEntry(nil, e)
		if len(b) > blockSize {
			t.Fatalf("%d bytes", len(b))
		}
		r := encodedEntry(b).decode()
		if r.Method != e.Method[:min(len(e.Method), maxText)] || r.Item != e.Item[:min(len(e.Item),
			maxText)] ||
			len(r.RequestBody) != min(len(e.RequestBody), MaxBody) {
			t.Fatalf("%+v", r)
		}
	})
}

// BenchmarkAdd measures Log.Add for an entry as large as that of a point read of 1 KB.
func BenchmarkAdd(b *testing.B) {
	l := New(16 << 20)
	e := entry(1)
	for i := range 12 {
		e.RequestHeader[fmt.Sprintf("X-Ms-Header-%d", i)] = []string{"a value of some length"}
	}
	for i := range 18 {
		e.ResponseHeader[fmt.Sprintf("x-ms-header-%d", i)] = []string{"a value of some length"}
	}
	e.RequestHeader["Authorization"] = []string{"type%3Dmaster%26ver%3D1.0%26sig%3D" +
		strings.Repeat("x", 50)}
	e.ResponseBody = []byte(strings.Repeat("x", 1000))
	b.ReportAllocs()
	for b.Loop() {
		l.Add(e)
	}
}
