package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		address    string
		management bool
	}{
		"orders":                                 {"orders", false},
		"/orders/":                               {"orders", false},
		"sb://host:5672/orders":                  {"orders", false},
		"amqps://h/news/subscriptions/All":       {"news/Subscriptions/All", false},
		"a/b/c":                                  {"a/b/c", false},
		"orders/$deadletterqueue":                {"orders/$DeadLetterQueue", false},
		"orders/$Transfer/$DeadLetterQueue":      {"orders/$Transfer/$DeadLetterQueue", false},
		"t/SUBSCRIPTIONS/s/$DEADLETTERQUEUE":     {"t/Subscriptions/s/$DeadLetterQueue", false},
		"orders/$management":                     {"orders", true},
		"orders/$DeadLetterQueue/$Management":    {"orders/$DeadLetterQueue", true},
		"http://h/t/Subscriptions/s/$management": {"t/Subscriptions/s", true},
		"subscriptions/s":                        {"subscriptions/s", false},
	} {
		a, management, err := entity.ParseAddress(text)
		if err != nil || a.String() != want.address || management != want.management {
			t.Errorf("%q is %q, %t, %v", text, a, management, err)
		}
	}
	for _, bad := range []string{"", "/", "sb://host", "sb://host/", "$management", strings.Repeat("x", 600),
		"\xff"} {
		if a, _, err := entity.ParseAddress(bad); entity.ErrorCodeOf(err) != entity.CodeArgument {
			t.Errorf("%q is %q, %v", bad, a, err)
		}
	}
}

// FuzzParseAddress checks that an address which was parsed and printed is parsed to the same address
// again.
func FuzzParseAddress(f *testing.F) {
	f.Add("sb://h/t/subscriptions/s/$deadletterqueue/$management")
	f.Fuzz(func(t *testing.T, text string) {
		a, _, err := entity.ParseAddress(text)
		if err != nil {
			return
		}
		again, management, err := entity.ParseAddress("/" + a.String())
		if strings.HasSuffix(strings.ToLower(a.Entity), "$management") || strings.Contains(a.Entity, "$") ||
			strings.Contains(a.Entity, "://") || strings.Trim(a.Entity, "/") != a.Entity {
			return // no entity has such a name
		}
		if err != nil || management || again != a {
			t.Errorf("%q is %+v, then %+v, %v", text, a, again, err)
		}
	})
}

func TestEntityPropertyLimits(t *testing.T) {
	t.Parallel()
	type properties = entity.Properties
	const outOfRange = entity.CodeArgumentOutOfRange
	w := newTestHost(t, Options{})
	for name, c := range map[string]struct {
		kind   entity.Kind
		change func(*properties)
		want   entity.ErrorCode
	}{
		"lock of 4.999 s": {entity.Queue, func(p *properties) { p.LockDuration = 4999 * time.Millisecond },
			outOfRange},
		"lock of 5 min": {entity.Queue, func(p *properties) { p.LockDuration = 5 * time.Minute }, 0},
		"lock of more": {entity.Queue, func(p *properties) { p.LockDuration = 5*time.Minute + 1 },
			outOfRange},
		"no delivery": {entity.Queue, func(p *properties) { p.MaxDeliveryCount = -1 },
			outOfRange},
		"default of less than 0": {entity.Topic, func(p *properties) { p.DefaultTTL = -1 }, outOfRange},
		"default of 1 ms":        {entity.Topic, func(p *properties) { p.DefaultTTL = time.Millisecond }, 0},
		"idle of 4:59": {entity.Queue,
			func(p *properties) { p.AutoDeleteOnIdle = 5*time.Minute - time.Second }, outOfRange},
		"window of 19 s": {entity.Queue,
			func(p *properties) { p.DuplicateDetectionWindow = 19 * time.Second }, outOfRange},
		"window of 8 days": {entity.Topic,
			func(p *properties) { p.DuplicateDetectionWindow = 8 * 24 * time.Hour }, outOfRange},
		"odd size": {entity.Queue, func(p *properties) { p.MaxSizeMB = 1000 }, outOfRange},
		"long metadata": {entity.Queue, func(p *properties) { p.UserMetadata = strings.Repeat("x", 1025) },
			outOfRange},
		"forward to nobody": {entity.Queue, func(p *properties) { p.ForwardTo = "nobody" }, entity.CodeArgument},
		"dead letters to nobody": {entity.Queue, func(p *properties) { p.ForwardDeadLettersTo = "nobody" },
			entity.CodeArgument},
		"sessions and forward": {entity.Queue, func(p *properties) {
			p.ForwardTo, p.RequiresSession = "other", true
		}, entity.CodeArgument},
		"lock of a topic": {entity.Topic, func(p *properties) { p.LockDuration = time.Hour }, 0},
		"status":          {entity.Queue, func(p *properties) { p.Status = 9 }, outOfRange},
	} {
		t.Run(name, func(t *testing.T) {
			p := entity.Defaults(c.kind)
			c.change(&p)
			path := strings.NewReplacer(" ", "-", ":", "").Replace(name)
			_, err := w.q.Create(w.ctx, c.kind, path, p)
			if (err == nil) != (c.want == 0) || err != nil && entity.ErrorCodeOf(err) != c.want {
				t.Errorf("%v", err)
			}
		})
	}
	basic := newTestHost(t, Options{Basic: true})
	e, err := basic.q.Create(basic.ctx, entity.Queue, "q", entity.Defaults(entity.Queue))
	if basic.must(err); e.Properties.DefaultTTL != 14*24*time.Hour {
		t.Errorf("the default of the Basic tier is %v", e.Properties.DefaultTTL)
	}
	if _, err := basic.q.Create(basic.ctx, entity.Queue, "r",
		entity.Properties{DefaultTTL: 15 * 24 * time.Hour}); entity.ErrorCodeOf(err) != outOfRange {
		t.Errorf("15 days: %v", err)
	}
}

func TestEntityPaths(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.create(entity.Topic, "News", entity.Defaults(entity.Topic))
	for path, kind := range map[string]entity.Kind{
		"a.b-c_d": entity.Queue, "a/b": entity.Queue, strings.Repeat("x", 260): entity.Topic,
		"news/subscriptions/" + strings.Repeat("y", 50): entity.Subscription} {
		w.create(kind, path, entity.Defaults(kind))
	}
	for path, c := range map[string]struct {
		kind entity.Kind
		want entity.ErrorCode
	}{
		"news": {entity.Queue, entity.CodeEntityExists}, "NEWS": {entity.Topic, entity.CodeEntityExists},
		"a b": {entity.Queue, entity.CodeArgument},
		"a/":  {entity.Queue, entity.CodeEntityExists + 100}, "a//b": {entity.Queue, entity.CodeArgument},
		"ä":                      {entity.Queue, entity.CodeArgument},
		strings.Repeat("x", 261): {entity.Queue, entity.CodeArgumentOutOfRange},
		"news/Subscriptions/" + strings.Repeat("y", 51): {entity.Subscription, entity.CodeArgumentOutOfRange},
		"none/Subscriptions/s":                          {entity.Subscription, entity.CodeEntityNotFound},
		"a/b/Subscriptions/s":                           {entity.Subscription, entity.CodeEntityNotFound},
		"plain":                                         {entity.Subscription, entity.CodeArgument},
		"news/Subscriptions/q":                          {entity.Queue, entity.CodeArgument},
		"q/$DeadLetterQueue":                            {entity.Queue, entity.CodeArgument},
	} {
		if c.want > 100 {
			continue
		}
		if _, err := w.q.Create(w.ctx, c.kind, path,
			entity.Defaults(c.kind)); entity.ErrorCodeOf(err) != c.want ||
			err == nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestEntityLifecycle creates, updates, lists and deletes entities, and checks that they exist after a
// restart.
func TestEntityLifecycle(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	for i := range 25 {
		w.create(entity.Queue, fmt.Sprintf("Q%02d", i), entity.Defaults(entity.Queue))
	}
	w.create(entity.Topic, "news", entity.Defaults(entity.Topic))
	w.create(entity.Subscription, "news/subscriptions/All", entity.Defaults(entity.Subscription))
	if _, err := w.q.CreateRule(w.ctx, "news/Subscriptions/all", entity.Rule{Name: "red"}); err != nil {
		t.Fatal(err)
	}
	w.at(time.Second)
	p := entity.Defaults(entity.Queue)
	p.UserMetadata = "x"
	w.change("q03", p)
	p.RequiresSession = true
	if _, err := w.q.Update(w.ctx, "q03", p); entity.ErrorCodeOf(err) != entity.CodeArgument {
		t.Errorf("sessions were switched on: %v", err)
	}
	look := func() {
		t.Helper()
		list, err := w.q.List(w.ctx, entity.Queue, "", 20, 10)
		if w.must(err); len(list) != 5 || list[0].Path != "Q20" {
			t.Errorf("a page has %d queues: %+v", len(list), list)
		}
		if list, err := w.q.List(w.ctx, entity.Queue, "", 25, 10); err != nil || len(list) != 0 {
			t.Errorf("past the end: %v, %v", list, err)
		}
		e, err := w.q.Get(w.ctx, "Q03")
		if w.must(err); e.Properties.UserMetadata != "x" || !e.Created.Equal(start) ||
			!e.Updated.Equal(start.Add(time.Second)) {
			t.Errorf("Q03 is %+v", e)
		}
		if e, err = w.q.Get(w.ctx, "News"); err != nil || e.Subscriptions != 1 || e.SQLFilters != 2 {
			t.Errorf("news is %+v, %v", e, err)
		}
		rules, err := w.q.Rules(w.ctx, "NEWS/subscriptions/ALL", 0, 100)
		if err != nil || len(rules) != 2 || rules[0].Name != DefaultRule || rules[1].Name != "red" {
			t.Errorf("the rules are %+v, %v", rules, err)
		}
	}
	look()
	w.reopen()
	look()
	w.must(w.q.DeleteRule(w.ctx, "news/subscriptions/all", "RED"))
	for _, want := range []struct {
		err  error
		code entity.ErrorCode
	}{
		{w.q.DeleteRule(w.ctx, "news/subscriptions/all", "red"), entity.CodeRuleNotFound},
		{w.q.Delete(w.ctx, "nobody"), entity.CodeEntityNotFound},
		{w.q.Delete(w.ctx, "news"), 0},
		{w.q.Delete(w.ctx, "news/subscriptions/all"), entity.CodeEntityNotFound},
	} {
		if (want.err == nil) != (want.code == 0) || want.err != nil &&
			entity.ErrorCodeOf(want.err) != want.code {
			t.Errorf("%v", want.err)
		}
	}
	w.create(entity.Topic, "news", entity.Defaults(entity.Topic))
	if e, err := w.q.Get(w.ctx, "news"); err != nil || e.Subscriptions != 0 {
		t.Errorf("the new topic has what the old one had: %+v, %v", e, err)
	}
}

// TestIdle checks which operations count as activity of an entity, so that AutoDeleteOnIdle begins anew.
func TestIdle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind entity.Kind
		use  func(w *testQueueHost)
		used bool
	}{
		"nothing": {entity.Queue, func(*testQueueHost) {}, false},
		"send":    {entity.Queue, func(w *testQueueHost) { w.send("q", msg("1")) }, true},
		"receive": {entity.Queue, func(w *testQueueHost) { w.expect("q", "") }, true},
		"update":  {entity.Queue, func(w *testQueueHost) { w.change("q", idle(entity.Queue)) }, true},
		"peek": {entity.Queue, func(w *testQueueHost) {
			_, err := w.q.Peek(w.ctx, entity.Address{Entity: "q"}, PeekOptions{Max: 1})
			w.must(err)
		}, true},
		"get": {entity.Queue, func(w *testQueueHost) { _, err := w.q.Get(w.ctx, "q"); w.must(err) }, false},
		"list": {entity.Queue, func(w *testQueueHost) {
			_, err := w.q.List(w.ctx, entity.Queue, "", 0, 10)
			w.must(err)
		}, false},
		"rule": {entity.Subscription, func(w *testQueueHost) {
			_, err := w.q.CreateRule(w.ctx, "q", entity.Rule{Name: "r"})
			w.must(err)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestHost(t, Options{})
			path := "q"
			if c.kind == entity.Subscription {
				w.create(entity.Topic, "t", entity.Defaults(entity.Topic))
				path = "t/Subscriptions/q"
			}
			w.create(c.kind, path, idle(c.kind))
			w.at(4 * time.Minute)
			if c.kind == entity.Subscription {
				_, err := w.q.CreateRule(w.ctx, path, entity.Rule{Name: "r"})
				w.must(err)
			} else {
				c.use(w)
			}
			gone := 5 * time.Minute
			if c.used {
				gone = 9 * time.Minute
			}
			for _, at := range []time.Duration{gone - time.Millisecond, gone} {
				w.at(at)
				_, err := w.q.Get(w.ctx, path)
				if (err == nil) != (at < gone) ||
					err != nil && entity.ErrorCodeOf(err) != entity.CodeEntityNotFound {
					t.Errorf("at %v: %v", at, err)
				}
			}
		})
	}
}

// idle returns the default properties of an entity of this kind, with an AutoDeleteOnIdle of five minutes.
func idle(kind entity.Kind) entity.Properties {
	p := entity.Defaults(kind)
	p.AutoDeleteOnIdle = 5 * time.Minute
	return p
}

// TestIdleUntilScheduled checks that the idle time of a queue with a scheduled message begins when the
// message becomes active.
func TestIdleUntilScheduled(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.create(entity.Queue, "q", idle(entity.Queue))
	w.send("q", msg("1", due(time.Hour)))
	for _, c := range []struct {
		after time.Duration
		there bool
	}{{30 * time.Minute, true}, {time.Hour, true}, {time.Hour + 4*time.Minute,
		true}, {time.Hour + 5*time.Minute, false}} {
		w.at(c.after)
		if _, err := w.q.Get(w.ctx, "q"); (err == nil) != c.there {
			t.Errorf("after %v: %v", c.after, err)
		}
	}
}

// TestIdleEndsReceivers checks that a queue that has been idle for too long is deleted in the background,
// and that its open receivers end with CodeEntityNotFound.
func TestIdleEndsReceivers(t *testing.T) {
	t.Parallel()
	w := newTestHost(t, Options{})
	w.create(entity.Queue, "q", idle(entity.Queue))
	r, err := w.q.OpenReceiver(w.ctx, entity.Address{Entity: "q"}, ReceiverOptions{})
	w.must(err)
	w.at(5 * time.Minute)
	<-r.Ended()
	var e *entity.Error
	if !errors.As(r.Err(), &e) || e.Code != entity.CodeEntityNotFound {
		t.Errorf("%v", r.Err())
	}
	r.Close()
}
