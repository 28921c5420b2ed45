package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParseAddress(t *testing.T) {
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
		a, management, err := ParseAddress(text)
		if err != nil || a.String() != want.address || management != want.management {
			t.Errorf("%q is %q, %t, %v", text, a, management, err)
		}
	}
	for _, bad := range []string{"", "/", "sb://host", "sb://host/", "$management", strings.Repeat("x", 600),
		"\xff"} {
		if a, _, err := ParseAddress(bad); CodeOf(err) != CodeArgument {
			t.Errorf("%q is %q, %v", bad, a, err)
		}
	}
}

// FuzzParseAddress: the canonical spelling of an address is the same address.
func FuzzParseAddress(f *testing.F) {
	f.Add("sb://h/t/subscriptions/s/$deadletterqueue/$management")
	f.Fuzz(func(t *testing.T, text string) {
		a, _, err := ParseAddress(text)
		if err != nil {
			return
		}
		again, management, err := ParseAddress("/" + a.String())
		if strings.HasSuffix(strings.ToLower(a.Entity), "$management") || strings.Contains(a.Entity, "$") ||
			strings.Contains(a.Entity, "://") || strings.Trim(a.Entity, "/") != a.Entity {
			return // no entity has such a name
		}
		if err != nil || management || again != a {
			t.Errorf("%q is %+v, then %+v, %v", text, a, again, err)
		}
	})
}

func TestProperties(t *testing.T) {
	w := newWorld(t, Options{})
	for name, c := range map[string]struct {
		kind   Kind
		change func(*Properties)
		want   Code
	}{
		"lock of 4.999 s": {Queue, func(p *Properties) { p.LockDuration = 4999 * time.Millisecond },
			CodeArgumentOutOfRange},
		"lock of 5 min": {Queue, func(p *Properties) { p.LockDuration = 5 * time.Minute }, 0},
		"lock of more": {Queue, func(p *Properties) { p.LockDuration = 5*time.Minute + 1 },
			CodeArgumentOutOfRange},
		"no delivery": {Queue, func(p *Properties) { p.MaxDeliveryCount = -1 },
			CodeArgumentOutOfRange},
		"default of less than 0": {Topic, func(p *Properties) { p.DefaultTTL = -1 }, CodeArgumentOutOfRange},
		"default of 1 ms":        {Topic, func(p *Properties) { p.DefaultTTL = time.Millisecond }, 0},
		"idle of 4:59": {Queue,
			func(p *Properties) { p.AutoDeleteOnIdle = 5*time.Minute - time.Second }, CodeArgumentOutOfRange},
		"window of 19 s": {Queue,
			func(p *Properties) { p.DuplicateDetectionWindow = 19 * time.Second }, CodeArgumentOutOfRange},
		"window of 8 days": {Topic,
			func(p *Properties) { p.DuplicateDetectionWindow = 8 * 24 * time.Hour }, CodeArgumentOutOfRange},
		"odd size": {Queue, func(p *Properties) { p.MaxSizeMB = 1000 }, CodeArgumentOutOfRange},
		"long metadata": {Queue, func(p *Properties) { p.UserMetadata = strings.Repeat("x", 1025) },
			CodeArgumentOutOfRange},
		"forward to nobody": {Queue, func(p *Properties) { p.ForwardTo = "nobody" }, CodeArgument},
		"dead letters to nobody": {Queue, func(p *Properties) { p.ForwardDeadLettersTo = "nobody" },
			CodeArgument},
		"sessions and forward": {Queue, func(p *Properties) {
			p.ForwardTo, p.RequiresSession = "other",
				true
		}, CodeArgument},
		"lock of a topic": {Topic, func(p *Properties) { p.LockDuration = time.Hour }, 0},
		"status":          {Queue, func(p *Properties) { p.Status = 9 }, CodeArgumentOutOfRange},
	} {
		t.Run(name, func(t *testing.T) {
			p := Defaults(c.kind)
			c.change(&p)
			path := strings.NewReplacer(" ", "-", ":", "").Replace(name)
			_, err := w.q.Create(w.ctx, c.kind, path, p)
			if (err == nil) != (c.want == 0) || err != nil && CodeOf(err) != c.want {
				t.Errorf("%v", err)
			}
		})
	}
	basic := newWorld(t, Options{Basic: true})
	e, err := basic.q.Create(basic.ctx, Queue, "q", Defaults(Queue))
	if basic.must(err); e.Properties.DefaultTTL != 14*24*time.Hour {
		t.Errorf("the default of the Basic tier is %v", e.Properties.DefaultTTL)
	}
	if _, err := basic.q.Create(basic.ctx, Queue, "r",
		Properties{DefaultTTL: 15 * 24 * time.Hour}); CodeOf(err) != CodeArgumentOutOfRange {
		t.Errorf("15 days: %v", err)
	}
}

func TestNames(t *testing.T) {
	w := newWorld(t, Options{})
	w.create(Topic, "News", Defaults(Topic))
	for path, kind := range map[string]Kind{"a.b-c_d": Queue, "a/b": Queue, strings.Repeat("x", 260): Topic,
		"news/subscriptions/" + strings.Repeat("y", 50): Subscription} {
		w.create(kind, path, Defaults(kind))
	}
	for path, c := range map[string]struct {
		kind Kind
		want Code
	}{
		"news": {Queue, CodeEntityExists}, "NEWS": {Topic, CodeEntityExists}, "a b": {Queue, CodeArgument},
		"a/": {Queue, CodeEntityExists + 100}, "a//b": {Queue, CodeArgument},
		"ä": {Queue, CodeArgument}, strings.Repeat("x", 261): {Queue, CodeArgumentOutOfRange},
		"news/Subscriptions/" + strings.Repeat("y", 51): {Subscription, CodeArgumentOutOfRange},
		"none/Subscriptions/s":                          {Subscription, CodeEntityNotFound},
		"a/b/Subscriptions/s":                           {Subscription, CodeEntityNotFound},
		"plain":                                         {Subscription, CodeArgument},
		"news/Subscriptions/q":                          {Queue, CodeArgument},
		"q/$DeadLetterQueue":                            {Queue, CodeArgument},
	} {
		if c.want > 100 {
			continue
		}
		if _, err := w.q.Create(w.ctx, c.kind, path, Defaults(c.kind)); CodeOf(err) != c.want || err == nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestLife: an entity is made, changed, listed and deleted, and what was made is there after a restart.
func TestLife(t *testing.T) {
	w := newWorld(t, Options{})
	for i := range 25 {
		w.create(Queue, fmt.Sprintf("Q%02d", i), Defaults(Queue))
	}
	w.create(Topic, "news", Defaults(Topic))
	w.create(Subscription, "news/subscriptions/All", Defaults(Subscription))
	if _, err := w.q.CreateRule(w.ctx, "news/Subscriptions/all", Rule{Name: "red"}); err != nil {
		t.Fatal(err)
	}
	w.at(time.Second)
	p := Defaults(Queue)
	p.UserMetadata = "x"
	w.change("q03", p)
	p.RequiresSession = true
	if _, err := w.q.Update(w.ctx, "q03", p); CodeOf(err) != CodeArgument {
		t.Errorf("sessions were switched on: %v", err)
	}
	look := func() {
		t.Helper()
		list, err := w.q.List(w.ctx, Queue, "", 20, 10)
		if w.must(err); len(list) != 5 || list[0].Path != "Q20" {
			t.Errorf("a page has %d queues: %+v", len(list), list)
		}
		if list, err := w.q.List(w.ctx, Queue, "", 25, 10); err != nil || len(list) != 0 {
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
		code Code
	}{
		{w.q.DeleteRule(w.ctx, "news/subscriptions/all", "red"), CodeRuleNotFound},
		{w.q.Delete(w.ctx, "nobody"), CodeEntityNotFound},
		{w.q.Delete(w.ctx, "news"), 0},
		{w.q.Delete(w.ctx, "news/subscriptions/all"), CodeEntityNotFound},
	} {
		if (want.err == nil) != (want.code == 0) || want.err != nil && CodeOf(want.err) != want.code {
			t.Errorf("%v", want.err)
		}
	}
	w.create(Topic, "news", Defaults(Topic))
	if e, err := w.q.Get(w.ctx, "news"); err != nil || e.Subscriptions != 0 {
		t.Errorf("the new topic has what the old one had: %+v, %v", e, err)
	}
}

// TestIdle: what is use of an entity, and what is not.
func TestIdle(t *testing.T) {
	for name, c := range map[string]struct {
		kind Kind
		use  func(w *world)
		used bool
	}{
		"nothing": {Queue, func(*world) {}, false},
		"send":    {Queue, func(w *world) { w.send("q", msg("1")) }, true},
		"receive": {Queue, func(w *world) { w.expect("q", "") }, true},
		"update":  {Queue, func(w *world) { w.change("q", idle(Queue)) }, true},
		"peek": {Queue, func(w *world) {
			_,
				err := w.q.Peek(w.ctx, Address{Entity: "q"}, PeekOptions{Max: 1})
			w.must(err)
		}, true},
		"get": {Queue, func(w *world) { _, err := w.q.Get(w.ctx, "q"); w.must(err) }, false},
		"list": {Queue, func(w *world) { _, err := w.q.List(w.ctx, Queue, "", 0, 10); w.must(err) },
			false},
		"rule": {Subscription, func(w *world) {
			_, err := w.q.CreateRule(w.ctx, "q", Rule{Name: "r"})
			w.must(err)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			path := "q"
			if c.kind == Subscription {
				w.create(Topic, "t", Defaults(Topic))
				path = "t/Subscriptions/q"
			}
			w.create(c.kind, path, idle(c.kind))
			w.at(4 * time.Minute)
			if c.kind == Subscription {
				_, err := w.q.CreateRule(w.ctx, path, Rule{Name: "r"})
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
				if (err == nil) != (at < gone) || err != nil && CodeOf(err) != CodeEntityNotFound {
					t.Errorf("at %v: %v", at, err)
				}
			}
		})
	}
}

// idle are the properties of an entity that is deleted after five minutes.
func idle(kind Kind) Properties {
	p := Defaults(kind)
	p.AutoDeleteOnIdle = 5 * time.Minute
	return p
}

// TestIdleUntilScheduled: a scheduled message keeps its entity until it has arrived, and from then on the
// time runs.
func TestIdleUntilScheduled(t *testing.T) {
	w := newWorld(t, Options{})
	w.create(Queue, "q", idle(Queue))
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

// TestIdleEndsReceivers: the idler deletes what is over, and who has it open learns of it.
func TestIdleEndsReceivers(t *testing.T) {
	w := newWorld(t, Options{})
	w.create(Queue, "q", idle(Queue))
	r, err := w.q.OpenReceiver(w.ctx, Address{Entity: "q"}, ReceiverOptions{})
	w.must(err)
	w.at(5 * time.Minute)
	<-r.Ended()
	var e *Error
	if !errors.As(r.Err(), &e) || e.Code != CodeEntityNotFound {
		t.Errorf("%v", r.Err())
	}
	r.Close()
}
