package sweep

import (
	"context"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
	"github.com/mayflydb/mayfly/ttl"
)

// ExpiryPassPositions are the positions of the reaper's two passes over the index of expiry, one for each of
// its families of keys: w holds items that inherit the container's default, by the time of their last write;
// x holds items with a ttl of their own, by their deadline. A pass visits the keys in the order of time, a
// few in each step.
type ExpiryPassPositions struct{ written, deadline host.SweepPassPosition }

// Restart sets the positions of the reaper in both families of the index of expiry: it continues at the
// entries of second at.
func (p *ExpiryPassPositions) Restart(at int64) {
	p.written.Restart(at)
	p.deadline.Restart(at)
}

// IsPast reports whether the pass over a family of the index of expiry (w or x) may already have gone past a
// second, so that it will not find a key that is written there now. A writer calls it when its commit is
// visible.
func (p *ExpiryPassPositions) IsPast(family byte, second int64) bool {
	if family == layout.FamilyWritten {
		return p.written.IsPast(second)
	}
	return p.deadline.IsPast(second)
}

// ExpiryCandidate is an item that may have expired.
type ExpiryCandidate struct {
	RID    uint64
	Second int64 // the second in its key in w or x; 0 if it is deleted by a tombstone
	Family byte  // w, x, or 0 if it is deleted by a tombstone
	Next   int64 // if the item is live: when it will expire; 0: never
}

// Matches reports whether an item with this life still has the key in the index of expiry (family w or x) by
// which the candidate was found.
func (c ExpiryCandidate) Matches(life ttl.Lifetime) bool {
	if c.Family == 0 {
		return true
	}
	family, second, ok := view.TimeEntry(life)
	return ok && family == c.Family && second == c.Second
}

// SweepStep is one step of the reaper's passes over the two families of the index of expiry: w, by the
// time of the last write, and x, by deadline. It finds items that may have expired by the container's
// policy.
type SweepStep struct {
	Delay *definition.PurgeDelay // nil: an expired item is a candidate at once
	Items []ExpiryCandidate
	Next  int64 // the second at which there will be more candidates; view.Never: none

	p        *ttl.Policy
	now      int64
	limit    int // maximum number of candidates
	families [2]keyFamilySweepStep
}

// keyFamilySweepStep is the part of a SweepStep that reads the keys of one family of the index of expiry, in
// the order of time.
type keyFamilySweepStep struct {
	family byte
	host.SweepPassStep
}

// NewStep returns a SweepStep over the partition range with the given engine scope, which finds at most limit
// candidates for expiry. p is the container's expiry policy, and now the current second. The step continues
// at the positions in at.
func NewStep(p *ttl.Policy, scope []byte, at *ExpiryPassPositions, now int64, limit int) SweepStep {
	inherit, due := p.Cutoffs(now)
	step := func(family byte, pass *host.SweepPassPosition, cutoff int64) keyFamilySweepStep {
		return keyFamilySweepStep{family, host.SweepPassStep{Pass: pass,
			Prefix: layout.TimePrefix(scope, family),
			Cutoff: cutoff}}
	}
	return SweepStep{p: p, now: now, limit: limit, Next: view.Never, families: [2]keyFamilySweepStep{
		step(layout.FamilyWritten, &at.written, inherit), step(layout.FamilyDeadline, &at.deadline, due),
	}}
}

// Take collects the expired items that the step may purge, the candidates. If it has found all, it also
// sets Next, the second at which there will be more. If the limit has stopped it, another step follows at
// once.
func (l *SweepStep) Take(ctx context.Context, eng engine.Engine) error {
	for i := range l.families {
		if l.limit > 0 {
			l.families[i].Announce()
		}
	}
	return work.ViewUnder(&work.ScanTimeLimiter{Ctx: ctx}, eng, func(r engine.Reader) (err error) {
		stopped := false
		for i := range l.families {
			if l.limit > 0 && err == nil && !(stopped && len(l.Items) == l.limit) {
				err = l.walk(r, &l.families[i])
				stopped = stopped || l.families[i].Stopped()
			}
		}
		if err == nil && !stopped { // else another step follows at once
			err = l.NextExpiry(r)
		}
		return err
	})
}

// walk collects candidates from one family of the index of expiry.
func (l *SweepStep) walk(r engine.Reader, g *keyFamilySweepStep) error {
	found, err := g.Walk(r, nil, l.limit-len(l.Items), l.judge(g.family))
	for _, e := range found {
		l.Items = append(l.Items, ExpiryCandidate{RID: e.ID, Second: e.At, Family: g.family})
	}
	return err
}

// judge returns a function that decides whether an expired item must wait for its purge delay; nil if there
// is no delay.
func (l *SweepStep) judge(family byte) func(host.DeadlineIndexEntry) host.SweepEntryAction {
	if l.Delay == nil {
		return nil
	}
	least, _ := l.Delay.Bounds()
	return func(e host.DeadlineIndexEntry) host.SweepEntryAction {
		died := ExpiredAt(l.p, family, e.At)
		if died+least > l.now {
			return host.AllWait(died + least)
		}
		if until := died + l.Delay.DelayOf(e.ID); until > l.now {
			return host.Wait(until)
		}
		return host.Take()
	}
}

// Finish ends a step of the reaper. It moves the reaper's position in each key family of the index of expiry
// past the checked entries, or only up to the first survivor, a candidate that has turned out to be live.
// more reports whether a limit ended the step before it had found all candidates.
func (l *SweepStep) Finish(survivors []ExpiryCandidate) (more bool) {
	for i := range l.families {
		g := &l.families[i]
		for _, v := range survivors {
			if v.Family == g.family {
				g.Pass.Survived(v.Second)
			}
			if v.Next > l.now { // it is live until its lease ends
				l.Next = min(l.Next, v.Next)
			}
		}
		stopped, again := g.Finish()
		l.Next = min(l.Next, again)
		more = more || stopped
	}
	return more
}

// NextExpiry sets Next to the second at which the first item that has not expired yet may expire.
func (l *SweepStep) NextExpiry(r engine.Reader) error {
	p := l.p
	for i := range l.families {
		g := &l.families[i]
		if p.Default == ttl.Absent || p.Default == ttl.Never && g.family == layout.FamilyWritten {
			continue
		}
		ahead, err := g.Ahead(r)
		if err != nil {
			return err
		}
		if ahead == view.Never {
			continue
		}
		if g.family == layout.FamilyWritten {
			ahead += int64(p.Default)
		}
		l.Next = min(l.Next, ahead)
	}
	return nil
}

// ExpiredAt returns the second in which an item expired by the policy p, computed only from the item's key in
// the expiry index: the key family (x for items with a ttl of their own, w for the others) and the second in
// the key. The item may have expired later, since a lease (a suspension of its expiry) and earlier policies
// are not considered. The result never decreases from one entry of a family to the next.
func ExpiredAt(p *ttl.Policy, family byte, second int64) int64 {
	at, _ := p.ExpiresAt(view.KeyLife(family, second))
	return at
}
