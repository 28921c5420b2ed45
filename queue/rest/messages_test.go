package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// broker returns the parsed BrokerProperties header of a response that contains a message.
func (w *serverUnderTest) broker(a testResponse) (b receivedBrokerProperties) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(a.header.Get(brokerProperties)), &b); err != nil {
		w.t.Fatal(err)
	}
	return b
}

func TestSendAndSettle(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.queue("/Orders", "<LockDuration>PT1M</LockDuration><MaxDeliveryCount>2</MaxDeliveryCount>")
	w.must(204, "POST", "/orders/messages/head?timeout=0", "")
	a := w.must(
		201,
		"POST",
		"/orders/messages",
		"hello",
		"Content-Type",
		"text/plain",
		brokerProperties,
		`{"Label":"M1","MessageId":"a","TimeToLive":10.5,"State":"ignored","Other":1}`,
		"Priority",
		`"High"`,
	)
	if a.header.Get("Content-Type") != "text/plain" || a.body != "" {
		t.Errorf("sent: %v %q", a.header, a.body)
	}
	a = w.must(201, "POST", "/orders/messages/head", "")
	b := w.broker(a)
	if a.body != "hello" || b.Label != "M1" || b.DeliveryCount != 1 || b.TimeToLive != "10.5" ||
		b.State != "Active" ||
		b.SequenceNumber != 1 || b.EnqueuedTimeUtc != "Thu, 02 Jul 2026 01:32:27 GMT" ||
		b.LockedUntilUtc != "Thu, 02 Jul 2026 01:33:27 GMT" || a.header.Get("Priority") != `"High"` {
		t.Errorf("received: %q %+v", a.body, b)
	}
	place := a.header.Get("Location")
	if want := w.web.URL + "/orders/messages/1/" + b.LockToken; place != want {
		t.Errorf("it is at %s, not %s", place, want)
	}
	w.advance(9 * time.Second)
	w.must(200, "POST", place, "")
	other := strings.Replace(place, "/1/", "/2/", 1)
	w.must(404, "DELETE", other, "")
	w.must(200, "PUT", strings.Replace(place, "/1/", "/a/", 1), "") // by its id
	w.must(404, "PUT", place, "")
	a = w.must(201, "POST", "/orders/messages/head?timeout=1", "")
	if b = w.broker(a); b.DeliveryCount != 2 {
		t.Errorf("received again: %+v", b)
	}
	w.must(200, "PUT", a.header.Get("Location"), "")
	a = w.must(200, "DELETE", "/orders/$DeadLetterQueue/messages/head?timeout=1", "")
	if b = w.broker(a); a.header.Get("Location") != "" || b.LockToken != "" || b.LockedUntilUtc != "" ||
		a.header["Deadletterreason"][0] != `"MaxDeliveryCountExceeded"` {
		t.Errorf("dead: %v %+v", a.header, b)
	}
	w.must(204, "DELETE", "/orders/$DeadLetterQueue/messages/head?timeout=0", "")
}

// TestStatusOfFailedRequests checks the status of message requests that fail: 410 for an entity that does not
// exist, 404 for a message that does not exist, and others for invalid or forbidden requests.
func TestStatusOfFailedRequests(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.must(410, "POST", "/q/messages", "x")
	w.must(410, "POST", "/q/messages/head", "")
	w.must(410, "DELETE", "/q/messages/1/00000000-0000-0000-0000-000000000000", "")
	w.queue("/q", "")
	w.must(404, "DELETE", "/q/messages/1/00000000-0000-0000-0000-000000000000", "")
	w.must(405, "GET", "/q/messages/head", "")
	w.must(400, "POST", "/q/messages/head?timeout=soon", "")
	w.put(201, "/t", "TopicDescription", "")
	w.put(201, "/t/Subscriptions/s", "SubscriptionDescription", "")
	w.must(400, "POST", "/t/subscriptions/s/messages", "x")
	w.must(400, "POST", "/q/$DeadLetterQueue/messages", "x")
	w.must(400, "POST", "/t/messages/head", "")
	w.queue("/session", "<RequiresSession>true</RequiresSession>")
	w.must(400, "POST", "/session/messages/head", "")
	w.must(400, "POST", "/session/messages", "x")
	w.put(200, "/q", "QueueDescription", "<Status>SendDisabled</Status>", "If-Match", "*")
	w.must(403, "POST", "/q/messages", "x")
	w.queue("/small", "")
	w.must(403, "POST", "/small/messages", strings.Repeat("x", 256<<10+1))
	w.must(403, "POST", "/small/messages", strings.Repeat("x", 1_000_000))
	w.must(201, "POST", "/small/messages", strings.Repeat("x", 250_000))
}

// TestRequestHeadersAsProperties checks that request headers become application properties, with types
// determined by the form of each value, and that a received message has the properties as headers.
func TestRequestHeadersAsProperties(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.queue("/q", "")
	sent := map[string]string{"Text": `"a \"b\""`, "Yes": "true", "No": "false", "N": "42",
		"Big": "9007199254740993",
		"F":   "2.5", "E": "1e3", "Bare": "word", "At": `"Wed, 02 Jul 2025 01:32:27 GMT"`, "Inf": "Inf"}
	var headers []string
	for name, value := range sent {
		headers = append(headers, name, value)
	}
	w.must(201, "POST", "/q/messages", "x", append(headers, "X-Ms-Retrypolicy", "NoRetry", "Traceparent",
		"00-1-2-00")...)
	list, err := w.q.Peek(t.Context(), entity.Address{Entity: "q"}, queue.PeekOptions{Max: 1})
	if err != nil || len(list) != 1 {
		t.Fatal(err)
	}
	want := map[string]any{"Text": `a "b"`, "Yes": true, "No": false, "N": int64(42),
		"Big": int64(9007199254740993), "F": 2.5,
		"E": 1000.0, "Bare": "word", "At": wire.Timestamp(1751419947000), "Inf": "Inf"}
	got := map[string]any{}
	for _, p := range list[0].Message.Application {
		got[p.Name], _, _ = wire.Value(p.Value)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the properties are\n%v\nnot\n%v", got, want)
	}
	a := w.must(200, "DELETE", "/q/messages/head", "")
	sent["Bare"], sent["E"], sent["Inf"] = `"word"`, "1000", `"Inf"`
	for name, value := range sent {
		if got := a.header.Get(name); got != value {
			t.Errorf("%s is %s, not %s", name, got, value)
		}
	}
	// What others can send and HTTP cannot tell is left out; what it can keeps its spelling.
	m := message.New([]byte{0, 255})
	m.Set("bin", wire.AppendBinary(nil, []byte{1}))
	m.SetString("with space", "x")
	m.SetString("lines", "a\r\nb")
	m.SetString("aSpelled", "ä")
	m.SetText(message.Subject, "ä €\U0001F600")
	if err := w.q.Send(t.Context(), entity.Address{Entity: "q"}, []*message.Message{m}, nil); err != nil {
		t.Fatal(err)
	}
	a = w.must(200, "DELETE", "/q/messages/head", "")
	if b := w.broker(a); b.Label != "ä €\U0001F600" || a.body != "\x00\xff" || a.header.Get("Lines") != "" ||
		a.header.Get("Bin") != "" ||
		a.header.Get("Aspelled") != `"ä"` || a.header["Content-Type"] != nil {
		t.Errorf("%v %q", a.header, a.body)
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.queue("/q", "")
	const kind = "application/vnd.microsoft.servicebus.json"
	w.must(
		201,
		"POST",
		"/q/messages",
		`[{"Body":"a","BrokerProperties":{"Label":"l","TimeToLiveTimeSpan":"0.00:00:10"},
		"UserProperties":{"s":"t","n":5,"f":0.5,"b":true}},{"Body":"Yg==","IsBodyBase64":true}]`,
		"Content-Type",
		kind,
		brokerProperties,
		`{"Label":"not of a batch"}`,
		"Prop",
		"1",
	)
	a := w.must(200, "DELETE", "/q/messages/head", "")
	if b := w.broker(a); a.body != "a" || b.Label != "l" || b.TimeToLive != "10" ||
		a.header.Get("Prop") != "" ||
		a.header.Get("S") != `"t"` || a.header.Get("F") != "0.5" {
		t.Errorf("%q %v", a.body, a.header)
	}
	if a = w.must(200, "DELETE", "/q/messages/head", ""); a.body != "b" || w.broker(a).Label != "" {
		t.Errorf("%q %v", a.body, a.header)
	}
	for _, body := range []string{"", "{}", "[]", `[{}]`, `[{"Body":5}]`,
		`[{"Body":"a","UserProperties":{"x":[1]}}]`,
		`[{"Body":"ok"},{"Body":"*","IsBodyBase64":true}]`, `[{"Body":"a","BrokerProperties":{"ScheduledEnqueueTimeUtc":"x"}}]`,
		`[{"Body":"a","BrokerProperties":{"TimeToLive":-1}}]`} {
		w.must(400, "POST", "/q/messages", body, "Content-Type", kind)
	}
	w.must(400, "POST", "/q/messages", "x", brokerProperties, "{")
	w.must(400, "POST", "/q/messages", "x", brokerProperties, `{"SessionId":"a","PartitionKey":"b"}`)
	w.must(204, "DELETE", "/q/messages/head?timeout=0", "")
	w.queue("/parts", "<EnablePartitioning>true</EnablePartitioning>")
	keys := `[{"Body":"a","BrokerProperties":{"PartitionKey":"k"}},{"Body":"b","BrokerProperties":{"PartitionKey":"%s"}}]`
	w.must(201, "POST", "/parts/messages", fmt.Sprintf(keys, "k"), "Content-Type", kind)
	if a = w.must(400, "POST", "/parts/messages", fmt.Sprintf(keys, "l"), "Content-Type", kind); !strings.Contains(
		a.body,
		"distinct SessionId or PartitionKey",
	) {
		t.Error(a.body)
	}
	// With a parameter the type is that of an ordinary message.
	w.must(201, "POST", "/q/messages", "[]", "Content-Type", kind+"; charset=utf-8")
	if a = w.must(200, "DELETE", "/q/messages/head", ""); a.body != "[]" {
		t.Errorf("%q", a.body)
	}
}

func TestScheduled(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.queue("/q", "")
	w.must(201, "POST", "/q/messages", "x", brokerProperties,
		`{"ScheduledEnqueueTimeUtc":"Thu, 02 Jul 2026 01:33:27 GMT"}`)
	w.must(204, "DELETE", "/q/messages/head?timeout=0", "")
	w.advance(time.Minute)
	a := w.must(200, "DELETE", "/q/messages/head?timeout=0", "")
	if b := w.broker(a); b.ScheduledEnqueueTimeUtc != "Thu, 02 Jul 2026 01:33:27 GMT" ||
		b.EnqueuedTimeUtc != b.ScheduledEnqueueTimeUtc {
		t.Errorf("%+v", b)
	}
}

// TestWaiting checks that a receive that waits returns a message that is sent meanwhile.
func TestWaiting(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.queue("/q", "")
	got := make(chan testResponse, 1)
	go func() { got <- w.do("DELETE", "/q/messages/head?timeout=60", "") }()
	for w.waiting("q") == 0 {
		select {
		case a := <-got:
			t.Fatalf("it did not wait: %d", a.status)
		default:
		}
	}
	w.must(201, "POST", "/q/messages", "x")
	if a := <-got; a.status != 200 || a.body != "x" {
		t.Errorf("%d %q", a.status, a.body)
	}
}

// waiting returns the time of the last access to an entity in milliseconds since 1970, or 0 before the
// first. A receive that begins to wait sets it.
func (w *serverUnderTest) waiting(path string) int64 {
	w.t.Helper()
	e, err := w.q.Get(w.t.Context(), path)
	if err != nil {
		w.t.Error(err)
		return 1
	}
	return e.Accessed.UnixMilli()
}

// TestTokenRights checks that a token is accepted only until it expires, for the rights of its key, and on
// the path for which it was issued or below that.
func TestTokenRights(t *testing.T) {
	t.Parallel()
	all := access.EmulatorKey()
	sender, listener := access.Key{Name: "s", Rights: access.Send, Text: "one"}, access.Key{Name: "l",
		Rights: access.Listen, Text: "two"}
	w := newServerUnderTest(t, access.TokenVerifierOptions{Mode: access.Strict,
		Keys: []access.Key{all, sender, listener}})
	w.queue("/q", "")
	w.queue("/q2", "")
	hour := ttl.SystemClock{}.Now().Add(time.Hour)
	token := func(k access.Key, path string, end time.Time) string {
		return access.Sign(k, "https://localhost:5300/"+path, end)
	}
	for _, c := range []struct {
		method, path, token string
		status              int
	}{
		{"POST", "/q/messages", token(sender, "q", hour), 201},
		{"POST", "/q/messages", token(sender, "", hour), 201},
		{"POST", "/q2/messages", token(sender, "q", hour), 401},
		{"POST", "/q/messages", token(sender, "q", ttl.SystemClock{}.Now().Add(-time.Hour)), 401},
		{"POST", "/q/messages", token(access.Key{Name: "s", Text: "other"}, "q", hour), 401},
		{"POST", "/q/messages", token(access.Key{Name: "unknown", Text: "one"}, "q", hour), 401},
		{"POST", "/q/messages", token(listener, "q", hour), 401},
		{"POST", "/q/messages", "", 401},
		{"POST", "/q/messages", "SharedAccessSignature x", 401},
		{"POST", "/q/messages/head?timeout=0", token(sender, "q", hour), 401},
		{"POST", "/q/messages/head?timeout=0", token(listener, "q", hour), 201},
		{"DELETE", "/q/messages/head?timeout=0", token(all, "q", hour), 200},
		{"GET", "/q", token(sender, "q", hour), 401},
		{"GET", "/q", token(all, "q", hour), 200},
		{"GET", "/$Resources/Queues", token(all, "q", hour), 401},
		{"GET", "/$Resources/Queues", token(all, "$Resources/Queues?api-version=1", hour), 200},
		{"GET", "/health", "", 200},
	} {
		a := w.do(c.method, c.path, "", "Authorization", c.token)
		if a.status != c.status {
			t.Errorf("%s %s with %s: %d, not %d: %s", c.method, c.path, c.token, a.status, c.status, a.body)
		}
	}
	w.token = token(all, "from", hour)
	w.put(401, "/from", "QueueDescription", "<ForwardTo>q</ForwardTo>")
	w.put(401, "/from", "QueueDescription", "<ForwardTo>q</ForwardTo>",
		"ServiceBusSupplementaryAuthorization", token(sender, "q2", hour))
	w.put(201, "/from", "QueueDescription", "<ForwardTo>q</ForwardTo>",
		"ServiceBusSupplementaryAuthorization", token(sender, "q", hour))
}

// FuzzRequests checks that no request causes a panic or a status of 500 or above.
func FuzzRequests(f *testing.F) {
	for _, s := range []string{
		"PUT|/q|<entry><content><QueueDescription><LockDuration>PT1M</LockDuration></QueueDescription></content></entry>||",
		"POST|/q/messages|x|application/vnd.microsoft.servicebus.json|{}", `POST|/q/messages|[{"Body":"a"}]|application/vnd.microsoft.servicebus.json|`,
		`POST|/q/messages|a||{"TimeToLive":1e300,"MessageId":null}`, "DELETE|/q/messages/head?timeout=0|||", "GET|/$Resources/Queues?$skip=9|||",
		"PUT|/t/Subscriptions/s/Rules/r|<entry><content><RuleDescription><Filter/></RuleDescription></content></entry>||",
		"GET|//%2f%00|||", "PUT|/q/$management|||", "DELETE|/q/messages/a/00000000-0000-0000-0000-000000000000|||"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parts := strings.SplitN(s, "|", 5)
		if len(parts) != 5 {
			return
		}
		u, err := url.ParseRequestURI(parts[1])
		if err != nil || !strings.HasPrefix(parts[1], "/") || strings.Contains(parts[1], "://") ||
			!isHeaderName(parts[0]) || !isHeaderText(parts[3]) || !isHeaderText(parts[4]) ||
			strings.Contains(strings.ToLower(u.Path), "head") && u.RawQuery != "timeout=0" {
			return // no request, or one that waits
		}
		w := newServerUnderTest(t, access.TokenVerifierOptions{})
		w.queue("/q", "")
		if a := w.do(parts[0], parts[1], parts[2], "Content-Type", parts[3], brokerProperties,
			parts[4]); a.status >= 500 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}
