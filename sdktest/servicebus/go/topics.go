package main

import (
	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// props returns a message with application properties.
func props(body string, p map[string]any) *sb.Message {
	return &sb.Message{Body: []byte(body), ApplicationProperties: p}
}

// MessageProperties is a set of application properties.
type MessageProperties = map[string]any

// rule adds a rule to a subscription of the scenario's topic.
func (t *ScenarioRun) rule(sub, name string, filter admin.RuleFilter, action admin.RuleAction) {
	o := &admin.CreateRuleOptions{Name: &name, Filter: filter, Action: action}
	_, err := t.adm.CreateRule(t.ctx, t.name, sub, o)
	t.must(err)
}

var topics = []scenario{
	{"topic-copies", func(t *ScenarioRun) {
		subs := t.topic(admin.TopicProperties{}, "s1", "s2")
		t.sendBodies(t.name, "a", "b")
		r := t.from(subs[0])
		r.complete(r.one("a"))
		t.left(subs[1], "a", "b")
		t.left(subs[0], "b")
	}},

	{"topic-default-rule", func(t *ScenarioRun) {
		s := t.topic(admin.TopicProperties{}, "s")[0]
		r, err := t.adm.GetRule(t.ctx, t.name, "s", "$Default", nil)
		t.must(err)
		t.check(r != nil, "no $Default")
		_, ok := r.Filter.(*admin.TrueFilter)
		t.check(ok, "a %T", r.Filter)
		_, err = t.adm.DeleteRule(t.ctx, t.name, "s", "$Default", nil)
		t.must(err)
		t.sendBodies(t.name, "a")
		t.left(s)
	}},

	{"rule-sql", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		s := t.ruled("s", sql("color = 'blue' AND size > 10"), nil)
		t.send(t.name, props("1", MessageProperties{"color": "blue", "size": 10}), props("2",
			MessageProperties{"color": "blue", "size": 11}),
			props("3", MessageProperties{"color": "red", "size": 11}), props("4", MessageProperties{}))
		t.left(s, "2")
	}},

	{"rule-sql-grammar", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		wanted := map[string][]string{}
		for _, c := range []struct {
			name, filter string
			want         []string
		}{
			{"in", "color IN ('blue', 'green')", []string{"blue"}},
			{"like", "color LIKE 'b%' AND note LIKE '100!%' ESCAPE '!'", []string{"blue"}},
			{"null", "note IS NULL", []string{"red"}},
			{"exists", "EXISTS(note)", []string{"blue"}},
			{"not", "NOT (size < 10)", []string{"blue"}},
			{"arithmetic", "size * 2 + 1 = 7", []string{"red"}},
			{"brackets", "(color = 'red' OR color = 'blue') AND size <> 12", []string{"red"}},
		} {
			t.ruled(c.name, sql(c.filter), nil)
			wanted[c.name] = c.want
		}
		t.send(t.name, props("blue", MessageProperties{"color": "blue", "size": 12, "note": "100%"}),
			props("red", MessageProperties{"color": "red", "size": 3}))
		for name, want := range wanted {
			t.left(messageSource{topic: t.name, sub: name}, want...)
		}
	}},

	{"rule-sql-system", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		for name, filter := range map[string]string{
			"label": "sys.Label = 'l'", "correlation": "sys.CorrelationId = 'c'", "id": "sys.MessageId = 'i'",
			"to": "sys.To = 't'", "content": "sys.ContentType = 'ct'",
		} {
			t.ruled(name, sql(filter), nil)
		}
		t.send(t.name, m("plain"), &sb.Message{Body: []byte("label"), Subject: ptr("l")},
			&sb.Message{Body: []byte("correlation"), CorrelationID: ptr("c")},
			&sb.Message{Body: []byte("id"), MessageID: ptr("i")},
			&sb.Message{Body: []byte("to"), To: ptr("t")},
			&sb.Message{Body: []byte("content"), ContentType: ptr("ct")})
		for _, name := range []string{"label", "correlation", "id", "to", "content"} {
			t.left(messageSource{topic: t.name, sub: name}, name)
		}
	}},

	{"rule-parameters", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		s := t.ruled("s", &admin.SQLFilter{
			Expression: "color = @c AND size = @n", Parameters: map[string]any{"@c": "blue", "@n": 12}}, nil)
		r, err := t.adm.GetRule(t.ctx, t.name, "s", "s", nil)
		t.must(err)
		t.equal(r.Filter.(*admin.SQLFilter).Parameters, MessageProperties{"@c": "blue", "@n": 12})
		t.send(t.name, props("1", MessageProperties{"color": "blue", "size": 12}), props("2",
			MessageProperties{"color": "blue", "size": 13}))
		t.left(s, "1")
	}},

	{"rule-correlation", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		wanted := map[string]string{"subject": "1", "correlation": "2", "property": "3", "both": "4"}
		for name, f := range map[string]admin.CorrelationFilter{
			"subject": {Subject: ptr("s")}, "correlation": {CorrelationID: ptr("c")},
			"property": {ApplicationProperties: MessageProperties{"color": "blue"}}, "capital": {Subject: ptr("S")},
			"both": {Subject: ptr("t"), ApplicationProperties: MessageProperties{"color": "red"}},
		} {
			t.ruled(name, &f, nil)
		}
		t.send(t.name, &sb.Message{Body: []byte("1"), Subject: ptr("s")},
			&sb.Message{Body: []byte("2"), CorrelationID: ptr("c")}, props("3", MessageProperties{"color": "blue"}),
			&sb.Message{Body: []byte("4"), Subject: ptr("t"),
				ApplicationProperties: MessageProperties{"color": "red"}},
			&sb.Message{Body: []byte("5"), Subject: ptr("t")})
		for name, want := range wanted {
			t.left(messageSource{topic: t.name, sub: name}, want)
		}
		t.left(messageSource{topic: t.name, sub: "capital"})
	}},

	{"rule-true-false", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		all, none := t.ruled("all", &admin.TrueFilter{}, nil), t.ruled("none", &admin.FalseFilter{}, nil)
		t.sendBodies(t.name, "a")
		t.left(all, "a")
		t.left(none)
	}},

	{"rule-action", func(t *ScenarioRun) {
		plain := t.topic(admin.TopicProperties{}, "plain")[0]
		statements := "SET color = 'red'; SET size = 5; SET sys.Label = 'new'; REMOVE note"
		changed := t.ruled("changed", sql("1=1"), &admin.SQLAction{Expression: statements})
		t.send(t.name, &sb.Message{Body: []byte("a"), Subject: ptr("old"),
			ApplicationProperties: MessageProperties{"color": "blue", "note": "n"}})
		got := t.deleting(changed).one("a")
		t.equal(*got.Subject, "new")
		t.equal(got.ApplicationProperties["color"], "red")
		t.equal(got.ApplicationProperties["size"], 5)
		_, has := got.ApplicationProperties["note"]
		t.check(!has, "note was not removed")
		got = t.deleting(plain).one("a")
		t.equal(*got.Subject, "old")
		t.equal(got.ApplicationProperties, MessageProperties{"color": "blue", "note": "n"})
	}},

	{"rule-several", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		s := t.ruled("plain1", sql("1=1"), nil)
		t.rule("plain1", "plain2", sql("2=2"), nil)
		t.rule("plain1", "acts1", sql("1=1"), &admin.SQLAction{Expression: "SET x = 1"})
		t.rule("plain1", "acts2", sql("1=1"), &admin.SQLAction{Expression: "SET x = 2"})
		t.sendBodies(t.name, "a")
		r := t.deleting(s)
		names := map[string]int{}
		for _, got := range r.take(3) {
			name, _ := got.ApplicationProperties["RuleName"].(string)
			names[name]++
		}
		r.none()
		t.equal(names, map[string]int{"": 1, "acts1": 1, "acts2": 1})
	}},

	{"rule-no-match", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		s := t.ruled("s", sql("color = 'blue'"), nil)
		t.sendBodies(t.name, "a")
		t.left(s)
	}},

	{"rule-later", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		s := t.ruled("s", &admin.FalseFilter{}, nil)
		t.sendBodies(t.name, "a")
		t.rule("s", "all", &admin.TrueFilter{}, nil)
		t.sendBodies(t.name, "b")
		t.left(s, "b")
	}},

	without("rule-manager", "no rule manager"),
	without("rule-manager-errors", "no rule manager"),
}
