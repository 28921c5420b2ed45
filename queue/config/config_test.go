package config

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/rule"
	"github.com/mayflydb/mayfly/ttl"
)

// example is a Config.json as users of Microsoft's Service Bus emulator have it.
const example = "\xEF\xBB\xBF" + `{
  "UserConfig": {
    "Namespaces": [
      {
        "Name": "sbemulatorns",
        "Queues": [
          {
            "Name": "queue.1",
            "Properties": {
              "DeadLetteringOnMessageExpiration": true,
              "DefaultMessageTimeToLive": "PT1H",
              "DuplicateDetectionHistoryTimeWindow": "PT20S",
              "ForwardDeadLetteredMessagesTo": "",
              "ForwardTo": "Topic.1",
              "LockDuration": "PT1M",
              "MaxDeliveryCount": 3,
              "RequiresDuplicateDetection": false,
              "RequiresSession": false
            }
          }
        ],
        "Topics": [
          {
            "Name": "topic.1",
            "Properties": { "DefaultMessageTimeToLive": "PT1H", "RequiresDuplicateDetection": false },
            "Subscriptions": [
              {
                "Name": "subscription.1",
                "Properties": { "MaxDeliveryCount": 2 },
                "Rules": [
                  {
                    "Name": "by-properties",
                    "Properties": {
                      "FilterType": "Correlation",
                      "CorrelationFilter": { "ContentType": "application/text", "Properties": { "p": "v", "n": 5 } }
                    }
                  },
                  {
                    "Name": "by-sql",
                    "Properties": {
                      "FilterType": "Sql",
                      "SqlFilter": { "SqlExpression": "sys.MessageId = '1' AND p = 'v'" },
                      "Action": { "SqlExpression": "SET sys.To = 'Entity'" }
                    }
                  }
                ]
              },
              { "Name": "subscription.2" }
            ]
          }
        ]
      }
    ],
    "Logging": { "Type": "File" }
  }
}
`

func open(t *testing.T) (context.Context, *queue.Queues) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	e, err := pebble.Open(ctx, pebble.Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	q := queue.New(queue.Options{})
	h, err := host.Open(ctx, e, host.Options{Clock: ttl.NewManual(time.Unix(1e9, 0)), ManualReaper: true},
		q.Tenant())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return ctx, q
}

func apply(t *testing.T, ctx context.Context, q *queue.Queues, text string) error {
	t.Helper()
	c, err := Parse("Config.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c.Apply(ctx, q)
}

func TestExample(t *testing.T) {
	ctx, q := open(t)
	for range 2 { // a second start changes nothing
		if err := apply(t, ctx, q, example); err != nil {
			t.Fatal(err)
		}
		e, err := q.Get(ctx, "queue.1")
		if err != nil {
			t.Fatal(err)
		}
		p := e.Properties
		if !p.DeadLetterOnExpiration || p.DefaultTTL != time.Hour ||
			p.DuplicateDetectionWindow != 20*time.Second ||
			p.ForwardTo != "Topic.1" || p.LockDuration != time.Minute || p.MaxDeliveryCount != 3 {
			t.Errorf("%+v", p)
		}
		rules, err := q.Rules(ctx, "topic.1/Subscriptions/subscription.1", 0, 10)
		if err != nil || len(rules) != 2 || rules[0].Filter.Kind() != rule.KindCorrelation ||
			rules[1].Action.Expression() != "SET sys.To = 'Entity'" {
			t.Errorf("%v %v", rules, err)
		}
		rules, err = q.Rules(ctx, "topic.1/Subscriptions/subscription.2", 0, 10)
		if err != nil || len(rules) != 1 || rules[0].Name != queue.DefaultRule {
			t.Errorf("%v %v", rules, err)
		}
	}
	// What differs is changed, what the file does not name stays.
	p, err := q.Get(ctx, "queue.1")
	if err != nil {
		t.Fatal(err)
	}
	p.Properties.LockDuration, p.Properties.UserMetadata = 5*time.Second, "mine"
	if _, err := q.Update(ctx, "queue.1", p.Properties); err != nil {
		t.Fatal(err)
	}
	if err := q.DeleteRule(ctx, "topic.1/Subscriptions/subscription.1", "by-sql"); err != nil {
		t.Fatal(err)
	}
	if _, err := q.CreateRule(ctx, "topic.1/Subscriptions/subscription.1",
		entity.Rule{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	if err := apply(t, ctx, q, example); err != nil {
		t.Fatal(err)
	}
	if p, err = q.Get(ctx, "queue.1"); err != nil || p.Properties.LockDuration != time.Minute ||
		p.Properties.UserMetadata != "mine" {
		t.Errorf("%+v %v", p.Properties, err)
	}
	rules, err := q.Rules(ctx, "topic.1/Subscriptions/subscription.1", 0, 10)
	if err != nil || len(rules) != 2 || rules[1].Name != "by-sql" {
		t.Errorf("%v %v", rules, err)
	}
}

// TestErrors checks that the error for an invalid file names the line and the reason, and that no entity
// is created from the file.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"UserConfig"`, `"UserConfigs"`, `Config.json:2:3: 'UserConfigs' is not known here`},
		{`"Name": "queue.1",`, ``, `Config.json:7:11: a name is missing`},
		{`"Name": "queue.1"`, `"Name": 5`, `Config.json:8:21: a string is expected here, not a number`},
		{`"PT20S"`, `"20s"`, `Config.json:12:54: DuplicateDetectionHistoryTimeWindow: a duration`},
		{`"MaxDeliveryCount": 3`, `"MaxDeliveryCount": 0`,
			`Config.json:16:35: MaxDeliveryCount: a whole number above 0`},
		{`"RequiresSession": false`, `"RequiresSession": "no"`,
			`Config.json:18:34: RequiresSession: true or false is expected here, not "no"`},
		{`"RequiresSession": false`, `"RequiresSessions": false`,
			`Config.json:18:15: 'RequiresSessions' is no property`},
		{`"RequiresSession": false`, `"LockDuration": "PT1M"`,
			`Config.json:18:15: 'LockDuration' is there a second time`},
		{`"Name": "topic.1"`, `"Name": "QUEUE.1"`, `Config.json:24:13: 'QUEUE.1' is there a second time`},
		{`"Name": "subscription.2"`, `"Name": "subscription.1"`, `'subscription.1' is there a second time`},
		{`"FilterType": "Sql"`, `"FilterType": "Xml"`,
			`FilterType: Sql or Correlation is expected here, not "Xml"`},
		{`AND p = 'v'`, `AND AND`, `Config.json:40:35: the rule 'by-sql': `},
		{`"Topics": [`, `"Topics": {`, `Config.json:23:11: this is not JSON`},
		{`"Logging": { "Type": "File" }`, `"Logging": `, `this is not JSON`},
		{"\n  }\n}\n", "\n  }\n", `the text ends in the middle of a value`},
		{"\n  }\n}\n", "\n  }\n} x", `something follows`},
	} {
		if strings.Count(example, c.old) == 0 {
			t.Fatalf("%q is not in the example", c.old)
		}
		_, err := Parse("Config.json", []byte(strings.Replace(example, c.old, c.new, 1)))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, not %s", c.new, err, c.want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`"ForwardTo": "Topic.1"`, `"ForwardTo": "nowhere"`, `The forwarding destination 'nowhere'`},
		{`"LockDuration": "PT1M"`, `"LockDuration": "PT1H"`, `Config.json:8:13: `},
		{`"Name": "queue.1"`, `"Name": "queue 1"`, `Config.json:8:13: `},
	} {
		ctx, q := open(t)
		err := apply(t, ctx, q, strings.Replace(example, c.old, c.new, 1))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, not %s", c.new, err, c.want)
		}
	}
	ctx, q := open(t)
	if _, err := q.Create(ctx, entity.Topic, "queue.1", entity.Defaults(entity.Topic)); err != nil {
		t.Fatal(err)
	}
	if err := apply(t, ctx, q, example); err == nil ||
		!strings.Contains(err.Error(), "'queue.1' is there as a topic") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Add("")
	f.Add("[[")
	f.Add(`{"UserConfig":{"Namespaces":[{"Queues":[{"Name":"a","Properties":null}]}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse("f", []byte(text))
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Error(err)
		}
	})
}
