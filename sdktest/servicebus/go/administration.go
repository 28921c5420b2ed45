package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// never is Service Bus's text for a duration without a limit.
const never = "P10675199DT2H48M5.4775807S"

// exists ends the scenario unless err is the error 409: the entity exists already.
func (t *ScenarioRun) exists(err error)  { t.refused(err, "409") }
func (t *ScenarioRun) missing(err error) { t.refused(err, "404") }

var administration = slices.Concat(queueAdministration, topicAdministration, subAdministration)

var queueAdministration = []scenario{
	{"admin-namespace", func(t *ScenarioRun) {
		n, err := t.adm.GetNamespaceProperties(t.ctx, nil)
		t.must(err)
		t.check(n.Name != "", "no name")
		t.equal(n.SKU, "Standard")
	}},

	{"admin-queue-lifecycle", func(t *ScenarioRun) {
		q := t.plain()
		_, err := t.adm.CreateQueue(t.ctx, q.queue, nil)
		t.exists(err)
		t.check(t.queueThere(q.queue), "not there")
		_, err = t.adm.DeleteQueue(t.ctx, q.queue, nil)
		t.must(err)
		t.check(!t.queueThere(q.queue), "still there")
		_, err = t.adm.DeleteQueue(t.ctx, q.queue, nil)
		t.missing(err)
	}},

	{"admin-queue-defaults", func(t *ScenarioRun) {
		q := t.plain()
		p, err := t.adm.GetQueue(t.ctx, q.queue, nil)
		t.must(err)
		t.equal(*p.LockDuration, "PT1M")
		t.equal(*p.MaxDeliveryCount, 10)
		t.equal(*p.DefaultMessageTimeToLive, never)
		t.equal(*p.AutoDeleteOnIdle, never)
		t.check(!*p.RequiresSession && !*p.RequiresDuplicateDetection, "sessions or duplicate detection")
		t.check(!*p.DeadLetteringOnMessageExpiration, "dead letters on expiry")
		t.equal(*p.MaxSizeInMegabytes, 1024)
		t.equal(*p.Status, admin.EntityStatusActive)
	}},

	{"admin-queue-properties", func(t *ScenarioRun) {
		dead := t.queue(admin.QueueProperties{}, "dead")
		q := t.queue(admin.QueueProperties{
			LockDuration: ptr("PT42S"), MaxSizeInMegabytes: ptr(int32(2048)),
			RequiresDuplicateDetection: ptr(true), RequiresSession: ptr(true),
			DefaultMessageTimeToLive: ptr("P1DT1H"), DeadLetteringOnMessageExpiration: ptr(true),
			DuplicateDetectionHistoryTimeWindow: ptr("PT5M"), MaxDeliveryCount: ptr(int32(7)),
			EnableBatchedOperations: ptr(false), AutoDeleteOnIdle: ptr("PT10M"), UserMetadata: ptr("<&> ä"),
			ForwardDeadLetteredMessagesTo: &dead.queue,
			AuthorizationRules: []admin.AuthorizationRule{{
				KeyName: ptr("reads"), AccessRights: []admin.AccessRight{admin.AccessRightListen},
				PrimaryKey: ptr("MTIz"), SecondaryKey: ptr("NDU2")}},
		})
		p, err := t.adm.GetQueue(t.ctx, q.queue, nil)
		t.must(err)
		t.equal([]string{*p.LockDuration, *p.DefaultMessageTimeToLive, *p.DuplicateDetectionHistoryTimeWindow,
			*p.AutoDeleteOnIdle, *p.UserMetadata}, []string{"PT42S", "P1DT1H", "PT5M", "PT10M", "<&> ä"})
		t.equal([]int32{*p.MaxSizeInMegabytes, *p.MaxDeliveryCount}, []int32{2048, 7})
		t.equal([]bool{*p.RequiresDuplicateDetection, *p.RequiresSession, *p.DeadLetteringOnMessageExpiration,
			*p.EnableBatchedOperations}, []bool{true, true, true, false})
		target := *p.ForwardDeadLetteredMessagesTo
		t.check(strings.HasSuffix(target, dead.queue), "forwards to %s", target)
		t.equal(*p.AuthorizationRules[0].KeyName, "reads")
		p.MaxDeliveryCount, p.DefaultMessageTimeToLive = ptr(int32(3)), ptr("PT5S")
		p.UserMetadata = ptr("other")
		_, err = t.adm.UpdateQueue(t.ctx, q.queue, p.QueueProperties, nil)
		t.must(err)
		p, err = t.adm.GetQueue(t.ctx, q.queue, nil)
		t.must(err)
		t.equal([]any{*p.MaxDeliveryCount, *p.DefaultMessageTimeToLive, *p.UserMetadata, *p.LockDuration},
			[]any{3, "PT5S", "other", "PT42S"})
	}},

	{"admin-queue-listing", func(t *ScenarioRun) {
		want := map[string]int{}
		for i := range 105 {
			want[t.queue(admin.QueueProperties{}, fmt.Sprintf("%03d", i)).queue] = 1
		}
		seen := map[string]int{}
		for pager := t.adm.NewListQueuesPager(nil); pager.More(); {
			page, err := pager.NextPage(t.ctx)
			t.must(err)
			for _, q := range page.Queues {
				if strings.HasPrefix(q.QueueName, t.name) {
					seen[q.QueueName]++
				}
			}
		}
		t.equal(seen, want)
	}},

	{"admin-queue-runtime", func(t *ScenarioRun) {
		q := t.plain()
		t.sendBodies(q.queue, "dead", "a", "b")
		r := t.from(q)
		r.deadLetter(r.one("dead"), "why", "because")
		t.scheduled(q.queue, 300, m("later"))
		p, err := t.adm.GetQueueRuntimeProperties(t.ctx, q.queue, nil)
		t.must(err)
		t.equal([]int64{int64(p.ActiveMessageCount), int64(p.DeadLetterMessageCount),
			int64(p.ScheduledMessageCount), p.TotalMessageCount}, []int64{2, 1, 1, 4})
		t.check(p.SizeInBytes > 0, "no size")
		t.check(time.Since(p.CreatedAt).Abs() < time.Minute, "created %v", p.CreatedAt)
		t.check(time.Since(p.UpdatedAt).Abs() < time.Minute, "updated %v", p.UpdatedAt)
	}},

	{"admin-topic-lifecycle", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		_, err := t.adm.CreateTopic(t.ctx, t.name, nil)
		t.exists(err)
		got, err := t.adm.GetTopic(t.ctx, t.name, nil)
		t.must(err)
		t.check(got != nil, "not there")
		_, err = t.adm.DeleteTopic(t.ctx, t.name, nil)
		t.must(err)
		got, err = t.adm.GetTopic(t.ctx, t.name, nil)
		t.must(err)
		t.check(got == nil, "still there")
		_, err = t.adm.DeleteTopic(t.ctx, t.name, nil)
		t.missing(err)
	}},
}

var topicAdministration = []scenario{
	{"admin-topic-properties", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{
			MaxSizeInMegabytes: ptr(int32(2048)), RequiresDuplicateDetection: ptr(true),
			DefaultMessageTimeToLive: ptr("P1DT1H"), DuplicateDetectionHistoryTimeWindow: ptr("PT5M"),
			EnableBatchedOperations: ptr(false), AutoDeleteOnIdle: ptr("PT10M"), SupportOrdering: ptr(true),
			UserMetadata: ptr("<&> ä"),
		})
		p, err := t.adm.GetTopic(t.ctx, t.name, nil)
		t.must(err)
		t.equal([]string{*p.DefaultMessageTimeToLive, *p.DuplicateDetectionHistoryTimeWindow,
			*p.AutoDeleteOnIdle, *p.UserMetadata}, []string{"P1DT1H", "PT5M", "PT10M", "<&> ä"})
		t.equal(*p.MaxSizeInMegabytes, 2048)
		t.equal([]bool{*p.RequiresDuplicateDetection, *p.EnableBatchedOperations, *p.SupportOrdering},
			[]bool{true, false, true})
		p.DefaultMessageTimeToLive, p.UserMetadata = ptr("PT5S"), ptr("other")
		_, err = t.adm.UpdateTopic(t.ctx, t.name, p.TopicProperties, nil)
		t.must(err)
		p, err = t.adm.GetTopic(t.ctx, t.name, nil)
		t.must(err)
		t.equal([]string{*p.DefaultMessageTimeToLive, *p.UserMetadata, *p.AutoDeleteOnIdle},
			[]string{"PT5S", "other", "PT10M"})
	}},

	{"admin-topic-listing", func(t *ScenarioRun) {
		want := map[string]int{}
		for _, suffix := range []string{"1", "2", "3"} {
			name := t.name + "-" + suffix
			_, err := t.adm.CreateTopic(t.ctx, name, nil)
			t.must(err)
			t.dropTopic(name)
			want[name] = 1
		}
		seen := map[string]int{}
		for pager := t.adm.NewListTopicsPager(nil); pager.More(); {
			page, err := pager.NextPage(t.ctx)
			t.must(err)
			for _, topic := range page.Topics {
				if strings.HasPrefix(topic.TopicName, t.name) {
					seen[topic.TopicName]++
				}
			}
		}
		t.equal(seen, want)
	}},

	{"admin-topic-runtime", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{}, "s1", "s2")
		t.scheduled(t.name, 300, m("later"))
		p, err := t.adm.GetTopicRuntimeProperties(t.ctx, t.name, nil)
		t.must(err)
		t.equal(p.SubscriptionCount, 2)
		t.equal(p.ScheduledMessageCount, 1)
	}},
}

var subAdministration = []scenario{
	{"admin-subscription-lifecycle", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{}, "s")
		_, err := t.adm.CreateSubscription(t.ctx, t.name, "s", nil)
		t.exists(err)
		_, err = t.adm.CreateSubscription(t.ctx, t.name+"-not", "s", nil)
		t.missing(err)
		got, err := t.adm.GetSubscription(t.ctx, t.name, "s", nil)
		t.must(err)
		t.check(got != nil, "not there")
		_, err = t.adm.DeleteSubscription(t.ctx, t.name, "s", nil)
		t.must(err)
		got, err = t.adm.GetSubscription(t.ctx, t.name, "s", nil)
		t.must(err)
		t.check(got == nil, "still there")
		_, err = t.adm.DeleteSubscription(t.ctx, t.name, "s", nil)
		t.missing(err)
	}},

	{"admin-subscription-properties", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		t.sub("s", admin.SubscriptionProperties{
			LockDuration: ptr("PT42S"), RequiresSession: ptr(true), DefaultMessageTimeToLive: ptr("P1DT1H"),
			DeadLetteringOnMessageExpiration:                ptr(true),
			EnableDeadLetteringOnFilterEvaluationExceptions: ptr(false), MaxDeliveryCount: ptr(int32(7)),
			EnableBatchedOperations: ptr(false), AutoDeleteOnIdle: ptr("PT10M"), UserMetadata: ptr("<&> ä"),
		})
		p, err := t.adm.GetSubscription(t.ctx, t.name, "s", nil)
		t.must(err)
		t.equal([]string{*p.LockDuration, *p.DefaultMessageTimeToLive, *p.AutoDeleteOnIdle, *p.UserMetadata},
			[]string{"PT42S", "P1DT1H", "PT10M", "<&> ä"})
		t.equal(*p.MaxDeliveryCount, 7)
		t.equal([]bool{*p.RequiresSession, *p.DeadLetteringOnMessageExpiration,
			*p.EnableDeadLetteringOnFilterEvaluationExceptions, *p.EnableBatchedOperations},
			[]bool{true, true, false, false})
		p.MaxDeliveryCount, p.UserMetadata = ptr(int32(3)), ptr("other")
		_, err = t.adm.UpdateSubscription(t.ctx, t.name, "s", p.SubscriptionProperties, nil)
		t.must(err)
		p, err = t.adm.GetSubscription(t.ctx, t.name, "s", nil)
		t.must(err)
		t.equal([]any{*p.MaxDeliveryCount, *p.UserMetadata, *p.LockDuration}, []any{3, "other", "PT42S"})
	}},

	{"admin-subscription-listing", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		want, seen := map[string]int{}, map[string]int{}
		for _, name := range numbered(105) {
			t.sub(name, admin.SubscriptionProperties{})
			want[name] = 1
		}
		for pager := t.adm.NewListSubscriptionsPager(t.name, nil); pager.More(); {
			page, err := pager.NextPage(t.ctx)
			t.must(err)
			for _, s := range page.Subscriptions {
				seen[s.SubscriptionName]++
			}
		}
		t.equal(seen, want)
	}},

	{"admin-subscription-runtime", func(t *ScenarioRun) {
		s := t.topic(admin.TopicProperties{}, "s")[0]
		t.sendBodies(t.name, "dead", "a", "b")
		r := t.from(s)
		r.deadLetter(r.one("dead"), "why", "because")
		p, err := t.adm.GetSubscriptionRuntimeProperties(t.ctx, t.name, "s", nil)
		t.must(err)
		t.equal([]int64{int64(p.ActiveMessageCount), int64(p.DeadLetterMessageCount), p.TotalMessageCount},
			[]int64{2, 1, 3})
	}},

	{"admin-rule-lifecycle", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{}, "s")
		t.rule("s", "sql", sql("a = 1"), &admin.SQLAction{Expression: "SET b = 2"})
		both := &admin.CorrelationFilter{Subject: ptr("x"), ApplicationProperties: MessageProperties{"n": "v"}}
		t.rule("s", "correlation", both, nil)
		again := &admin.CreateRuleOptions{Name: ptr("sql"), Filter: sql("a = 1")}
		_, err := t.adm.CreateRule(t.ctx, t.name, "s", again)
		t.exists(err)
		got, err := t.adm.GetRule(t.ctx, t.name, "s", "sql", nil)
		t.must(err)
		t.equal(got.Filter.(*admin.SQLFilter).Expression, "a = 1")
		t.equal(got.Action.(*admin.SQLAction).Expression, "SET b = 2")
		got.Filter = sql("a = 3")
		_, err = t.adm.UpdateRule(t.ctx, t.name, "s", got.RuleProperties)
		t.must(err)
		got, err = t.adm.GetRule(t.ctx, t.name, "s", "sql", nil)
		t.must(err)
		t.equal(got.Filter.(*admin.SQLFilter).Expression, "a = 3")
		got, err = t.adm.GetRule(t.ctx, t.name, "s", "correlation", nil)
		t.must(err)
		t.equal(*got.Filter.(*admin.CorrelationFilter).Subject, "x")
		t.equal(got.Filter.(*admin.CorrelationFilter).ApplicationProperties, MessageProperties{"n": "v"})
		_, err = t.adm.DeleteRule(t.ctx, t.name, "s", "sql", nil)
		t.must(err)
		got, err = t.adm.GetRule(t.ctx, t.name, "s", "sql", nil)
		t.must(err)
		t.check(got == nil, "still there")
	}},

	{"admin-rule-listing", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{}, "s")
		for _, name := range numbered(5) {
			t.rule("s", name, sql("a = 1"), nil)
		}
		t.equal(t.rules("s"), append([]string{"$Default"}, numbered(5)...))
	}},

	{"admin-default-rule", func(t *ScenarioRun) {
		t.topic(admin.TopicProperties{})
		t.ruled("s", sql("a = 1"), nil)
		t.equal(t.rules("s"), []string{"s"})
	}},

	{"admin-names", func(t *ScenarioRun) {
		name := "Admin-Names/deep.er/Queue_1"
		_, err := t.adm.CreateQueue(t.ctx, name, nil)
		t.must(err)
		t.dropQueue(name)
		t.sendBodies(name, "a")
		t.check(t.queueThere("admin-names/DEEP.er/queue_1"), "not found in other letters")
		t.left(messageSource{queue: "admin-names/DEEP.er/queue_1"}, "a")
		_, err = t.adm.CreateQueue(t.ctx, "no~tilde", nil)
		t.refused(err, "400")
	}},

	{"admin-one-namespace", func(t *ScenarioRun) {
		q := t.plain()
		_, err := t.adm.CreateTopic(t.ctx, q.queue, nil)
		t.exists(err)
	}},

	{"admin-forward-missing", func(t *ScenarioRun) {
		p := admin.QueueProperties{ForwardTo: ptr("not-there")}
		_, err := t.adm.CreateQueue(t.ctx, t.name, &admin.CreateQueueOptions{Properties: &p})
		t.refused(err, "400", "404")
	}},

	{"admin-delete-topic", func(t *ScenarioRun) {
		s := t.topic(admin.TopicProperties{}, "s")[0]
		_, err := t.adm.DeleteTopic(t.ctx, t.name, nil)
		t.must(err)
		_, err = t.from(s).ReceiveMessages(t.ctx, 1, &sb.ReceiveMessagesOptions{})
		t.refused(err, "not-found", "notfound")
		t.topic(admin.TopicProperties{})
		got, err := t.adm.GetSubscription(t.ctx, t.name, "s", nil)
		t.must(err)
		t.check(got == nil, "still there")
	}},
}

// rules returns the names of the rules of a subscription, sorted.
func (t *ScenarioRun) rules(sub string) []string {
	names := []string{}
	for pager := t.adm.NewListRulesPager(t.name, sub, nil); pager.More(); {
		page, err := pager.NextPage(t.ctx)
		t.must(err)
		for _, r := range page.Rules {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}
