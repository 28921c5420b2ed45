package rest

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/ttl"
)

// TestEntityNames checks that entities with unusual valid names, such as those that messaging frameworks
// generate, can be created and addressed, and that invalid names are refused with Service Bus's error
// texts.
func TestEntityNames(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	for _, name := range []string{"/txt/.-_123", "/Bus/Fault--Shop.Contracts/Placed--", "/ns/PingMessage__",
		"/tests.bugs.batcheditem__", "/health", "/subscriptions", "/Subscriptions/x", "/messages"} {
		d := w.parse(w.put(201, name+"?api-version=2021-05", "TopicDescription", ""))
		if d.Title != name[1:] {
			t.Errorf("%s is told as %s", name, d.Title)
		}
		for _, sub := range []string{"batcheditem__", "subscriptions", "Rules"} {
			path := name + "/Subscriptions/" + sub
			if e := w.parse(w.put(201, path, "SubscriptionDescription", "")); e.Title != sub {
				t.Errorf("%s is told as %s", path, e.Title)
			}
			for _, rule := range []string{"Placed--", "rules"} {
				w.put(201, path+"/Rules/"+rule, "RuleDescription", `<Filter i:type="FalseFilter"/>`)
				w.must(200, "GET", path+"/Rules/"+rule, "")
			}
			if feed := w.parse(w.must(200, "GET", path+"/Rules/", "")); len(feed.Entries) != 3 {
				t.Errorf("%s has the rules %v", path, feed.Entries)
			}
		}
		if feed := w.parse(w.must(200, "GET", name+"/Subscriptions/", "")); len(feed.Entries) != 3 {
			t.Errorf("%s has the subscriptions %v", name, feed.Entries)
		}
		if name != "/messages" { // that path sends to ""
			w.must(201, "POST", name+"/messages", "x")
		}
		w.must(200, "DELETE", name+"?api-version=2021-05", "")
	}
	w.must(200, "GET", "/health", "")
	for _, path := range []string{"/a~b", "/a%20b", "/$a", "/a//b", "/%23TEST"} {
		a := w.put(400, path+"?api-version=2021-05", "QueueDescription", "")
		want := "SubCode=40000. '" + w.web.URL + path + "?api-version=2021-05' contains character(s) " +
			"that is not allowed by " +
			"Service Bus. Entity segments can contain only letters, numbers, periods (.), hyphens (-), " +
			"and underscores (_)."
		if !strings.Contains(a.body, want) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	w.put(201, "/t", "TopicDescription", "")
	w.put(201, "/t/Subscriptions/s", "SubscriptionDescription", "<DefaultRuleDescription>"+
		`<Filter i:type="FalseFilter"/><Name>$default</Name></DefaultRuleDescription>`)
	if e := w.parse(w.must(200, "GET", "/t/Subscriptions/s/Rules/$Default", "")); e.Title != "$default" {
		t.Errorf("the first rule is told as %s", e.Title)
	}
	w.put(400, "/t/Subscriptions/a~b", "SubscriptionDescription", "")
	w.put(400, "/t/Subscriptions/s/Rules/a~b", "RuleDescription", `<Filter i:type="FalseFilter"/>`)
}

// TestRightsToManage checks that a token without the right Manage is refused with Service Bus's error
// texts, except that a GET of an entity that does not exist succeeds with an empty feed.
func TestRightsToManage(t *testing.T) {
	t.Parallel()
	listen := access.Key{Name: "ListenOnly", Rights: access.Listen, Text: "k"}
	w := newServerUnderTest(t, access.TokenVerifierOptions{Mode: access.Strict,
		Keys: []access.Key{access.EmulatorKey(), listen}})
	w.put(201, "/q", "QueueDescription", "")
	w.put(201, "/t", "TopicDescription", "")
	w.put(201, "/t/Subscriptions/s", "SubscriptionDescription", "")
	w.token = access.Sign(listen, "sb://localhost/", ttl.SystemClock{}.Now().Add(time.Hour))
	if p := w.parse(w.must(200, "GET", "/absent", "")); p.Title != "Publicly Listed Services" {
		t.Errorf("what is absent is %v", p)
	}
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/q", "<Detail>Manage,EntityRead claims required for this operation."},
		{"GET", "/t", "<Detail>Manage,EntityRead claims required for this operation."},
		{"GET", "/$Resources/Queues", "<Detail>Manage,EntityRead claims required for this operation."},
		{"GET", "/$namespaceinfo", "<Detail>Manage,EntityRead claims required for this operation."},
		{"PUT", "/new", "Authorization failed for specified action: Manage,EntityWrite."},
		{"DELETE", "/q", "Authorization failed for specified action: Manage,EntityDelete."},
	} {
		if a := w.must(401, c.method, c.path, ""); !strings.Contains(a.body, c.want) {
			t.Errorf("%s %s: %s", c.method, c.path, a.body)
		}
	}
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/t/Subscriptions/s", "GetSubscription"}, {"GET", "/t/Subscriptions/absent",
			"GetSubscription"},
		{"GET", "/t/Subscriptions/", "EnumerateSubscriptions"}, {"PUT", "/t/Subscriptions/s",
			"CreateOrUpdateSubscription"},
		{"DELETE", "/t/Subscriptions/s", "DeleteSubscription"}, {"GET", "/t/Subscriptions/s/Rules/$Default",
			"GetRule"},
		{"GET", "/t/Subscriptions/s/rules?a=%0D%0Ab", "EnumerateRules"},
		{"PUT", "/t/Subscriptions/s/rules/r", "CreateOrUpdateRule"}, {"PUT", "/t/Subscriptions/s/rules",
			"CreateOrUpdateRule"},
		{"DELETE", "/t/Subscriptions/s/rules/r", "DeleteRule"}} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, w.web.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", w.token)
		res, err := w.web.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		want := "401 SubCode=40100: Unauthorized : Unauthorized access for '" + c.want +
			"' operation on endpoint 'sb://"
		if res.StatusCode != 401 || !strings.HasPrefix(res.Status, want) || len(res.Header) != 2 {
			t.Errorf("%s %s: %s, %v", c.method, c.path, res.Status, res.Header)
		}
	}
	recorded := httptest.NewRecorder() // it cannot be taken over, as a stream of HTTP/2
	r := httptest.NewRequest("GET", "/t/Subscriptions/s", nil)
	r.Header.Set("Authorization", w.token)
	w.web.Config.Handler.ServeHTTP(recorded, r)
	if body := recorded.Body.String(); recorded.Code != 401 || !strings.Contains(body,
		"Unauthorized access for &apos;GetSubscription") &&
		!strings.Contains(body, "Unauthorized access for 'GetSubscription") {
		t.Errorf("without a reason: %d %s", recorded.Code, body)
	}
	w.token = access.Sign(access.Key{Name: "ListenOnly", Text: "x"}, "sb://localhost/",
		ttl.SystemClock{}.Now().Add(time.Hour))
	w.must(401, "GET", "/absent", "")
	w.token = ""
	w.must(401, "GET", "/absent", "")
}

// TestKeysOfEntities checks that a key defined by a queue's own shared access rules is valid for this
// queue only, with the rights of its rule.
func TestKeysOfEntities(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{Mode: access.Strict,
		Keys: []access.Key{access.EmulatorKey()}})
	const rule = `<AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule">` +
		`<ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue><Rights><AccessRights>` +
		`Send</AccessRights></Rights>` +
		`<KeyName>own</KeyName><PrimaryKey>p</PrimaryKey><SecondaryKey>s</SecondaryKey>` +
		`</AuthorizationRule></AuthorizationRules>`
	w.put(201, "/q", "QueueDescription", rule)
	w.put(201, "/other", "QueueDescription", "")
	w.put(400, "/bad", "QueueDescription", strings.ReplaceAll(rule, "Send", "Fly"))
	w.put(400, "/bad", "QueueDescription", strings.ReplaceAll(rule, "Send", "Manage"))
	manager := w.token
	for _, text := range []string{"p", "s"} {
		w.token = access.Sign(access.Key{Name: "own", Text: text}, "http://localhost/q",
			ttl.SystemClock{}.Now().Add(time.Hour))
		w.must(201, "POST", "/q/messages", "x")
		w.must(401, "DELETE", "/q/messages/head?timeout=0", "")
		w.must(401, "POST", "/other/messages", "x")
		w.must(401, "DELETE", "/q", "")
	}
	own := w.token
	w.token = manager
	w.put(200, "/q", "QueueDescription", "<AuthorizationRules/>", "If-Match", "*")
	w.token = own
	w.must(401, "POST", "/q/messages", "x")
}

// TestVersions checks that with an api-version before 2021-05 the element MaxMessageSizeInKilobytes is
// refused in requests and left out of responses.
func TestVersions(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	const large = "<MaxMessageSizeInKilobytes>1024</MaxMessageSizeInKilobytes>"
	for _, kind := range []string{"QueueDescription", "TopicDescription"} {
		w.put(400, "/e?api-version=2017-04", kind, large)
		old := w.description(w.put(201, "/e?api-version=2017-04", kind, ""))
		if old.child("MaxMessageSizeInKilobytes") != nil {
			t.Errorf("%s: 2017-04 tells it", kind)
		}
		w.put(400, "/e?api-version=2017-04", kind, large, "If-Match", "*")
		now := w.description(w.put(200, "/e?api-version=2021-05", kind, large, "If-Match", "*"))
		kept := w.description(w.put(200, "/e?api-version=2017-04", kind, "", "If-Match", "*"))
		if got := w.description(w.must(200, "GET", "/e",
			"")).text("MaxMessageSizeInKilobytes"); got != "1024" ||
			now.text("MaxMessageSizeInKilobytes") != "1024" ||
			kept.child("MaxMessageSizeInKilobytes") != nil {
			t.Errorf("%s: it is %s", kind, got)
		}
		a := w.put(400, "/e?api-version=2024-05", kind, strings.ReplaceAll(large, "1024", "1023"),
			"If-Match", "*")
		if !strings.Contains(a.body,
			"value for 'MaxMessageSizeInKilobytes' must be between 1024 and 102400") {
			t.Error(a.body)
		}
		w.must(200, "DELETE", "/e", "")
	}
}

// TestComputedEntityValues checks the values that Service Bus computes in the descriptions of new and of
// partitioned entities: MaxSizeInMegabytes, SupportOrdering and AccessedAt.
func TestComputedEntityValues(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	for kind, path := range map[string]string{"QueueDescription": "/q", "TopicDescription": "/t"} {
		d := w.description(w.put(201, path, kind, "<MaxSizeInMegabytes>3072</MaxSizeInMegabytes>"+
			"<EnablePartitioning>true</EnablePartitioning>"))
		if d.text("MaxSizeInMegabytes") != "49152" || d.text("SupportOrdering") != "false" ||
			d.text("AccessedAt") != "0001-01-01T00:00:00Z" {
			t.Errorf("%s: %s, %s, %s", kind, d.text("MaxSizeInMegabytes"), d.text("SupportOrdering"),
				d.text("AccessedAt"))
		}
		d = w.description(w.put(200, path, kind, "<MaxSizeInMegabytes>49152</MaxSizeInMegabytes>"+
			"<EnablePartitioning>true</EnablePartitioning>", "If-Match", "*"))
		if d.text("MaxSizeInMegabytes") != "49152" || d.text("AccessedAt") != "0001-01-01T00:00:00Z" {
			t.Errorf("%s after an update: %s, %s", kind, d.text("MaxSizeInMegabytes"), d.text("AccessedAt"))
		}
	}
	s := w.description(w.put(201, "/t/Subscriptions/s", "SubscriptionDescription", ""))
	if !strings.HasPrefix(s.text("AccessedAt"), "2026-07-02T01:32:27") {
		t.Errorf("a subscription was used at %s", s.text("AccessedAt"))
	}
	w.must(201, "POST", "/q/messages", "x")
	if d := w.description(w.must(200, "GET", "/q", "")); !strings.HasPrefix(d.text("AccessedAt"),
		"2026-07-02T01:32:27") {
		t.Errorf("a queue was used at %s", d.text("AccessedAt"))
	}
	ordered := w.description(w.put(201, "/o", "TopicDescription",
		"<SupportOrdering>true</SupportOrdering><EnablePartitioning>true</EnablePartitioning>"))
	if ordered.text("SupportOrdering") != "true" {
		t.Error("SupportOrdering was not kept")
	}
}

// TestLog checks that each request logs one line at level debug, with the text of an error and without
// secrets.
func TestLog(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	var log bytes.Buffer
	h := New(Options{Queues: w.q, Guard: access.New(access.TokenVerifierOptions{}),
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	w.web.Config.Handler = h
	w.put(201, "/q?api-version=2021-05", "QueueDescription", "")
	w.put(409, "/q", "QueueDescription", "")
	w.put(400, "/a~b", "QueueDescription", "")
	w.must(405, "POST", "/q", "")
	w.must(200, "GET", "/q", "")
	for _, want := range []string{`method=PUT path=/q status=201`,
		`method=PUT path=/q status=409 code=EntityExists refusal="SubCode=40900. Conflict.`,
		`method=PUT path=/a~b status=400 code=Argument refusal="SubCode=40000. `,
		`method=POST path=/q status=405 code=405`,
		`method=GET path=/q status=200`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in\n%s", want, log.String())
		}
	}
	if got := strings.Count(log.String(), "\n"); got != 5 || strings.Contains(log.String(),
		"SharedAccessSignature") ||
		strings.Contains(log.String(), "sig=") {
		t.Errorf("%d lines:\n%s", got, log.String())
	}
}
