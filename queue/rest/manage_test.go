package rest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
)

func TestEntities(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	d := w.description(w.put(201, "/Orders", "QueueDescription", "<LockDuration>PT30S</LockDuration>"+
		"<DefaultMessageTimeToLive>PT1H</DefaultMessageTimeToLive><MaxDeliveryCount>3</MaxDeliveryCount>"+
		"<RequiresSession>true</RequiresSession><UserMetadata> a &amp; b </UserMetadata>"))
	for name, want := range map[string]string{"LockDuration": "PT30S", "DefaultMessageTimeToLive": "PT1H",
		"MaxDeliveryCount": "3", "RequiresSession": "true", "AutoDeleteOnIdle": "P10675199DT2H48M5.4775807S",
		"Status": "Active", "MaxSizeInMegabytes": "1024"} {
		if got := d.text(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	if got := d.child("UserMetadata").Text; got != " a & b " {
		t.Errorf("the metadata are %q", got)
	}
	w.put(409, "/orders", "QueueDescription", "")
	w.put(409, "/orders", "TopicDescription", "")
	d = w.description(w.put(200, "/orders", "QueueDescription", "<MaxDeliveryCount>4</MaxDeliveryCount>",
		"If-Match", "*"))
	if d.text("MaxDeliveryCount") != "4" || d.text("LockDuration") != "PT30S" ||
		d.child("UserMetadata") != nil {
		t.Errorf("after an update: %s %s", d.text("MaxDeliveryCount"), d.text("LockDuration"))
	}
	w.put(400, "/orders", "QueueDescription", "<RequiresSession>false</RequiresSession>", "If-Match", "*")
	w.put(404, "/absent", "QueueDescription", "", "If-Match", "*")
	w.put(404, "/orders", "TopicDescription", "", "If-Match", "*")
	w.must(200, "DELETE", "/ORDERS/", "")
	w.must(404, "DELETE", "/orders", "")

	w.put(201, "/news", "TopicDescription", "<RequiresDuplicateDetection>true</RequiresDuplicateDetection>")
	w.put(404, "/other/Subscriptions/all", "SubscriptionDescription", "")
	w.put(201, "/news/subscriptions/all", "SubscriptionDescription", "<LockDuration>PT5S</LockDuration>")
	w.put(201, "/news/Subscriptions/red", "SubscriptionDescription",
		`<DefaultRuleDescription><Filter i:type="SqlFilter">`+
			`<SqlExpression>color = 'red'</SqlExpression></Filter><Name>red</Name></DefaultRuleDescription>`)
	d = w.description(w.must(200, "GET", "/news", ""))
	if d.text("SubscriptionCount") != "2" || d.text("SqlFilterCount") != "2" {
		t.Errorf("the topic has %s subscriptions and %s filters", d.text("SubscriptionCount"),
			d.text("SqlFilterCount"))
	}
	d = w.description(w.must(200, "GET", "/news/Subscriptions/red/Rules/red", ""))
	if got := d.child("Filter").text("SqlExpression"); got != "color = 'red'" {
		t.Errorf("the filter is %q", got)
	}
	w.must(404, "GET", "/news/Subscriptions/red/Rules/$Default", "")
	w.must(200, "GET", "/news/Subscriptions/all/Rules/$Default", "")
	w.must(405, "POST", "/news", "")
	w.must(404, "GET", "/news/Subscriptions/absent", "")
	w.must(200, "DELETE", "/news", "")
	for _, path := range []string{"/", "/news", "/news/Subscriptions/all"} { // there is nothing to be told of
		if p := w.parse(w.must(200, "GET", path, "")); p.Title != "Publicly Listed Services" {
			t.Errorf("%s is %v", path, p)
		}
	}
	w.must(405, "PUT", "/", "")
}

// TestMalformedEntries checks that malformed descriptions of entities and rules are refused and create
// nothing.
func TestMalformedEntries(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	for _, body := range []string{"", "x", "<entry", "<entry/>", "<feed/>", `<entry><content/></entry>`,
		`<entry><content><QueueDescription></content></entry>`, strings.Repeat("<a>", 100_000)} {
		w.must(400, "PUT", "/q", body)
	}
	for _, elements := range []string{"<LockDuration>1 minute</LockDuration>",
		"<LockDuration>PT1S</LockDuration>", "<LockDuration>PT0S</LockDuration>", "<DefaultMessageTimeToLive>-PT1S</DefaultMessageTimeToLive>",
		"<MaxDeliveryCount>0</MaxDeliveryCount>", "<MaxDeliveryCount>9999999999</MaxDeliveryCount>",
		"<RequiresSession>maybe</RequiresSession>", "<Status>Sleeping</Status>", "<ForwardTo>nowhere</ForwardTo>",
		"<MaxSizeInMegabytes>7</MaxSizeInMegabytes>", "<AutoDeleteOnIdle>PT4M</AutoDeleteOnIdle>"} {
		w.put(400, "/q", "QueueDescription", elements)
	}
	w.must(403, "PUT", "/q", strings.Repeat(" ", maxEntry+1))
	if p := w.parse(w.must(200, "GET", "/q", "")); p.Title != "Publicly Listed Services" {
		t.Errorf("there is something: %v", p)
	}
	for _, query := range []string{"$skip=x", "$top=-1"} {
		w.must(400, "GET", "/$Resources/Queues?"+query, "")
	}
	w.put(201, "/t", "TopicDescription", "")
	w.put(201, "/t/Subscriptions/s", "SubscriptionDescription", "")
	for _, elements := range []string{
		`<Filter i:type="SqlFilter"><SqlExpression>a = </SqlExpression></Filter>`,
		`<Filter i:type="OtherFilter"/>`, `<Filter i:type="CorrelationFilter"><Properties><a><Key>k</Key>` +
			`<Value i:type="x:int">one</Value></a></Properties></Filter>`,
		`<Action i:type="SqlRuleAction"><SqlExpression>SET</SqlExpression></Action>`} {
		w.put(400, "/t/Subscriptions/s/Rules/r", "RuleDescription", elements)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.put(201, "/t", "TopicDescription", "")
	w.put(201, "/t/Subscriptions/s", "SubscriptionDescription", "")
	for _, elements := range []string{
		`<Filter i:type="TrueFilter"><SqlExpression>1=1</SqlExpression></Filter><Action i:type="EmptyRuleAction"/>`,
		`<Filter i:type="FalseFilter"/><Action i:type="EmptyRuleAction"/>`,
		`<Filter i:type="SqlFilter"><SqlExpression>a = @p</SqlExpression><Parameters><KeyValueOfstringanyType>` +
			`<Key>@p</Key><Value i:type="x:int">5</Value></KeyValueOfstringanyType></Parameters></Filter>` +
			`<Action i:type="SqlRuleAction"><SqlExpression>SET b = 'c'</SqlExpression></Action>`,
		`<Filter i:type="CorrelationFilter"><CorrelationId>c</CorrelationId><Label>l</Label><Properties>` +
			`<KeyValueOfstringanyType><Key>k</Key><Value i:type="x:dateTime">2026-01-02T03:04:05Z</Value></KeyValueOfstringanyType>` +
			`</Properties></Filter><Action i:type="EmptyRuleAction"/>`,
	} {
		before := w.description(w.put(201, "/t/Subscriptions/s/Rules/r", "RuleDescription", elements))
		w.put(409, "/t/Subscriptions/s/Rules/r", "RuleDescription", elements)
		after := w.description(w.put(200, "/t/Subscriptions/s/Rules/r", "RuleDescription",
			string(appendNodes(nil, before.Nodes)), "If-Match", "*"))
		if a, b := fmt.Sprint(before.child("Filter"),
			before.child("Action")), fmt.Sprint(after.child("Filter"),
			after.child("Action")); a != b || before.child("Action") == nil {
			t.Errorf("a rule that was sent back is\n%s\nnot\n%s", b, a)
		}
		w.must(200, "DELETE", "/t/Subscriptions/s/Rules/r", "")
		w.must(404, "DELETE", "/t/Subscriptions/s/Rules/r", "")
	}
	// A client that leaves the name to the entry.
	w.put(201, "/t/Subscriptions/s/Rules/", "RuleDescription",
		`<Filter i:type="TrueFilter"/><Name>named</Name>`)
	w.must(200, "GET", "/t/Subscriptions/s/Rules/named", "")
}

// TestResponseDetailsForClients checks details of management responses on which Service Bus clients depend,
// such as the letter case of paths in ids. Each subtest checks one detail and is named by a number, such as
// A1.
func TestResponseDetailsForClients(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.put(201, "/Shop/News", "TopicDescription", "")
	w.put(201, "/shop/news/subscriptions/All", "SubscriptionDescription", "")
	entry := w.parse(w.must(200, "GET", "/shop/news/subscriptions/all?api-version=2021-05", ""))
	sub := &entry.Content.Nodes[0]
	t.Run("A1", func(t *testing.T) {
		want := w.web.URL + "/Shop/News/Subscriptions/All?api-version=2021-05"
		if entry.ID != want || entry.Title != "All" {
			t.Errorf("the id is %s, the title %s", entry.ID, entry.Title)
		}
		r := w.parse(w.must(200, "GET", "/shop/news/subscriptions/all/rules/$default", ""))
		if r.ID != w.web.URL+"/Shop/News/Subscriptions/All/Rules/$Default" &&
			!strings.HasSuffix(r.ID, "/Rules/$Default") {
			t.Errorf("the id of a rule is %s", r.ID)
		}
	})
	t.Run("A2", func(t *testing.T) {
		text := w.must(200, "GET", "/shop/news/subscriptions/all", "").body
		if !strings.Contains(text, `<CountDetails xmlns:d2p1="`+nsCounts+
			`"><d2p1:ActiveMessageCount>0</d2p1:`) {
			t.Error(text)
		}
	})
	t.Run("A3", func(t *testing.T) {
		w.put(201, "/shop/news/subscriptions/all/rules/c", "RuleDescription",
			`<Filter i:type="CorrelationFilter"><Properties>`+
				`<KeyValueOfstringanyType><Key>k</Key><Value i:type="x:string">v</Value></KeyValueOfstringanyType></Properties></Filter>`)
		text := w.must(200, "GET", "/shop/news/subscriptions/all/rules/c", "").body
		if !strings.Contains(text, `<Value xmlns:d6p1="`+nsSchema+`" i:type="d6p1:string">v</Value>`) {
			t.Error(text)
		}
	})
	t.Run("A4", func(t *testing.T) {
		for i := range 5 {
			w.queue(fmt.Sprint("/q", i), "")
		}
		seen := []string{}
		path := "/$Resources/Queues?$top=2&api-version=2021-05"
		for pages := 0; path != ""; pages++ {
			feed := w.parse(w.must(200, "GET", path, ""))
			for _, e := range feed.Entries {
				seen = append(seen, e.Title)
			}
			path = ""
			if len(feed.Links) == 2 {
				path = feed.Links[1].Href
				if feed.Links[0].Rel != "self" || feed.Links[1].Rel != "next" ||
					!strings.Contains(path, "api-version=2021-05") ||
					!strings.Contains(path, "$skip=") || !strings.Contains(path, "$top=2") {
					t.Errorf("the links are %v", feed.Links)
				}
			} else if len(feed.Links) != 1 || pages != 2 {
				t.Errorf("page %d has the links %v", pages, feed.Links)
			}
		}
		if !slices.Equal(seen, []string{"q0", "q1", "q2", "q3", "q4"}) {
			t.Errorf("seen: %v", seen)
		}
	})
	t.Run("A5", func(t *testing.T) {
		feed := w.parse(w.must(200, "GET", "/shop/news/Subscriptions?%24skip=1&%3F=&api-version=2024-05", ""))
		if feed.XMLName.Local != "feed" || len(feed.Entries) != 0 {
			t.Errorf("a page behind the end: %v", feed)
		}
	})
	t.Run("A6", func(t *testing.T) {
		rule := w.description(w.must(200, "GET", "/shop/news/subscriptions/all/rules/$Default", ""))
		if rule.child("Filter") == nil || rule.child("Action") == nil || sub.child("MessageCount") == nil ||
			len(sub.child("CountDetails").Nodes) != 5 {
			t.Error("something is missing")
		}
	})
	t.Run("A7", func(t *testing.T) {
		if feed := w.parse(w.must(200, "GET", "/absent", "")); feed.Title != "Publicly Listed Services" {
			t.Errorf("%v", feed)
		}
		w.must(404, "GET", "/shop/news/subscriptions/absent", "")
		if feed := w.parse(w.must(200, "GET", "/absent/subscriptions/absent",
			"")); feed.Title != "Publicly Listed Services" {
			t.Errorf("%v", feed)
		}
	})
	t.Run("A8", func(t *testing.T) {
		optional := []string{"ForwardTo", "ForwardDeadLetteredMessagesTo", "UserMetadata"}
		for kind, path := range map[entity.Kind]string{entity.Queue: "/q0", entity.Topic: "/shop/news",
			entity.Subscription: "/shop/news/subscriptions/all"} {
			d := w.description(w.must(200, "GET", path, ""))
			order := []string{}
			for i := range d.Nodes {
				order = append(order, d.Nodes[i].XMLName.Local)
			}
			want := []string{}
			for _, f := range fieldsOf(kind) {
				if !slices.Contains(optional, f.name) {
					want = append(want, f.name)
				}
			}
			if !slices.Equal(order, want) {
				t.Errorf("%s has\n%v\nnot\n%v", kind, order, want)
			}
		}
	})
	t.Run("A9", func(t *testing.T) {
		if a := w.put(409, "/q0", "QueueDescription", ""); strings.Contains(a.body, "SubCode=40901") {
			t.Error(a.body)
		}
	})
	t.Run("A10, A12, A13", func(t *testing.T) {
		host := strings.TrimPrefix(w.web.URL, "http://")
		i := 0
		for target, want := range map[string]string{"SB://" + host + "/Q0": "sb://" + host + "/Q0",
			"Q0": "sb://127.0.0.1/Q0", "https://" + host + "/q0/": "https://" + host + "/q0",
			"http://" + host + "/q0": "http://" + host + "/q0"} {
			i++
			d := w.description(w.put(201, fmt.Sprint("/from", i), "QueueDescription",
				"<ForwardTo>"+target+"</ForwardTo>"))
			if got := d.text("ForwardTo"); got != want {
				t.Errorf("%s is told as %s", target, got)
			}
			again := w.description(w.put(200, fmt.Sprint("/from", i), "QueueDescription",
				"<ForwardTo>"+want+"</ForwardTo>", "If-Match", "*"))
			if got := again.text("ForwardTo"); got != want {
				t.Errorf("%s sent back is told as %s", want, got)
			}
			if d.child("ForwardDeadLetteredMessagesTo") != nil {
				t.Error("what is empty is told")
			}
		}
	})
	t.Run("A11", func(t *testing.T) {
		d := w.description(w.put(201, "/rounded", "QueueDescription",
			"<DefaultMessageTimeToLive>P10675199DT2H48M5.47758S</DefaultMessageTimeToLive>"))
		if got := d.text("DefaultMessageTimeToLive"); got != "P10675199DT2H48M5.4775807S" {
			t.Error(got)
		}
	})
	t.Run("A14", func(t *testing.T) {
		for _, name := range []string{"CreatedAt", "UpdatedAt", "AccessedAt"} {
			if got := sub.text(name); got != "2026-07-02T01:32:27.0000000Z" {
				t.Errorf("%s is %s", name, got)
			}
		}
	})
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	d := w.description(w.must(200, "GET", "/$namespaceinfo?api-version=2024-05", ""))
	if d.text("MessagingSKU") != "Standard" || d.text("NamespaceType") != "Messaging" {
		t.Errorf("%v", d)
	}
	if a := w.must(200, "GET", "/health",
		""); a.body != `{"status":"healthy","message":"Service is healthy."}` {
		t.Error(a.body)
	}
}
