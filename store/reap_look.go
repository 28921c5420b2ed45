package store

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/work"
	"github.com/mayflydb/mayfly/ttl"
)

// passes are where the passes over the families w and x have come to.
type passes struct{ written, deadline host.Pass }

func (p *passes) restart() {
	p.written.Restart(0)
	p.deadline.Restart(0)
}

// isPast reports whether a pass of the reaper may have left a second of a family behind already. A writer
// asks when its commit can be seen.
func (s *partition) isPast(family byte, second int64) bool {
	if family == layout.FamilyWritten {
		return s.written.IsPast(second) || s.announcing.written.IsPast(second)
	}
	return s.deadline.IsPast(second) || s.announcing.deadline.IsPast(second)
}

// sweepLook is one step's view of the two families: the candidates that the policy's cutoffs admit.
type sweepLook struct {
	p     *ttl.Policy
	now   int64
	delay *definition.PurgeDelay // nil: what has expired is a candidate at once
	limit int                    // candidates
	legs  [2]familyLook
	items []candidate
	next  int64 // the second at which there will be more
}

// familyLook is the look at one family.
type familyLook struct {
	family byte
	host.Step
}

func newLook(p *ttl.Policy, s *partition, at *passes, now int64, limit int) sweepLook {
	inherit, due := p.Cutoffs(now)
	step := func(family byte, pass *host.Pass, cutoff int64) familyLook {
		return familyLook{family, host.Step{Pass: pass, Prefix: layout.TimePrefix(s.scope, family),
			Cutoff: cutoff}}
	}
	return sweepLook{p: p, now: now, limit: limit, next: never, legs: [2]familyLook{
		step(layout.FamilyWritten, &at.written, inherit), step(layout.FamilyDeadline, &at.deadline, due),
	}}
}

// take collects the candidates, and finds out when there will be more.
func (l *sweepLook) take(ctx context.Context, eng engine.Engine) error {
	for i := range l.legs {
		if l.limit > 0 {
			l.legs[i].Announce()
		}
	}
	return work.ViewUnder(&work.Stopwatch{Ctx: ctx}, eng, func(r engine.Reader) (err error) {
		for i := range l.legs {
			if l.limit > 0 && err == nil {
				err = l.walk(r, &l.legs[i])
			}
		}
		if err == nil {
			err = l.nextExpiry(r)
		}
		return err
	})
}

// walk collects candidates of one family.
func (l *sweepLook) walk(r engine.Reader, g *familyLook) error {
	found, err := g.Walk(r, nil, l.limit-len(l.items), l.judge(g.family))
	for _, e := range found {
		l.items = append(l.items, candidate{rid: e.ID, second: e.At, family: g.family})
	}
	return err
}

// judge reports which of the expired have to wait; nil: none has.
func (l *sweepLook) judge(family byte) func(host.Entry) host.SweepAction {
	if l.delay == nil {
		return nil
	}
	least, _ := l.delay.Bounds()
	return func(e host.Entry) host.SweepAction {
		died := diedAt(l.p, family, e.At)
		if died+least > l.now {
			return host.AllWait(died + least)
		}
		if until := died + l.delay.DelayOf(e.ID); until > l.now {
			return host.Wait(until)
		}
		return host.Take()
	}
}

// finish moves the passes behind what has been looked at and reports whether a limit stopped the look.
func (l *sweepLook) finish(survivors []candidate) (more bool) {
	for i := range l.legs {
		g := &l.legs[i]
		for _, v := range survivors {
			if v.family == g.family {
				g.Pass.Survived(v.second)
			}
			if v.next > l.now { // its lease ends then
				l.next = min(l.next, v.next)
			}
		}
		stopped, again := g.Finish()
		l.next = min(l.next, again)
		more = more || stopped
	}
	return more
}

// nextExpiry is the second at which the first item above the cutoffs may expire.
func (l *sweepLook) nextExpiry(r engine.Reader) error {
	p := l.p
	for i := range l.legs {
		g := &l.legs[i]
		if p.Default == ttl.Absent || p.Default == ttl.Never && g.family == layout.FamilyWritten {
			continue
		}
		ahead, err := g.Ahead(r)
		if err != nil {
			return err
		}
		if ahead == never {
			continue
		}
		if g.family == layout.FamilyWritten {
			ahead += int64(p.Default)
		}
		l.next = min(l.next, ahead)
	}
	return nil
}
