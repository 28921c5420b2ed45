package store

import (
	"context"
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/ttl"
)

// pass is where the passes over the families w and x have come to.
type pass struct{ written, deadline cursor }

func (p *pass) restart() {
	p.written.restart(0)
	p.deadline.restart(0)
}

// isPast tells whether a pass of the reaper may have left a second of a family behind already. A writer asks
// when its commit can be seen: a look whose view came before that has announced by then how far it goes, and
// one whose view comes later meets what was written.
func (s *slot) isPast(family byte, second int64) bool {
	if family == layout.FamilyWritten {
		return s.written.isPast(second) || s.announcing.written.isPast(second)
	}
	return s.deadline.isPast(second) || s.announcing.deadline.isPast(second)
}

// cursor is where a pass over one family stands. A pass goes from the lowest entry that can matter to the
// cutoff, over as many steps as it takes, and leaves what survives behind; the next pass begins at the lowest
// survivor. So a crowd of leased items never keeps the reaper from what lies behind them.
type cursor struct {
	second atomic.Int64 // what is below it has been left behind; writers compare with it
	reach  atomic.Int64 // how far the look under way can come, or the last one could: set before its view; writers too
	rid    uint64
	low    int64 // lowest survivor of the pass; 0: none
	again  int64 // the second from which on one that the pass left behind may be purged; 0: none was
}

func (c *cursor) isPast(second int64) bool {
	return second <= c.reach.Load() || second < c.second.Load()
}

// restart lets the pass go on at a second. No look is under way: what was announced for the last one is over,
// since it has moved the cursor already.
func (c *cursor) restart(second int64) {
	c.second.Store(second)
	c.reach.Store(-1)
	c.rid, c.low, c.again = 0, 0, 0
}

// holdBack notes an entry that the pass leaves behind because it may not be purged before a second.
func (c *cursor) holdBack(second, until int64) {
	c.survived(second)
	if c.again == 0 || until < c.again {
		c.again = until
	}
}

// survived notes an entry that the pass leaves behind.
func (c *cursor) survived(second int64) {
	if c.low == 0 || second < c.low {
		c.low = second
	}
}

// end finishes a pass that has reached the cutoff.
func (c *cursor) end(cutoff int64) {
	if c.low > 0 {
		cutoff = min(cutoff, c.low-1)
	}
	c.restart(cutoff + 1)
}

// look is one step's view of the two families: the candidates that the policy's cutoffs admit.
type look struct {
	p     *ttl.Policy
	s     *slot
	now   int64
	delay *PurgeDelay // nil: what has expired is a candidate at once
	limit int         // candidates
	legs  [2]leg
	items []candidate
	next  int64 // the second at which there will be more
}

// leg is the look at one family.
type leg struct {
	family byte
	at     *cursor
	cutoff int64
	upto   int64 // how far it came, where it was not stopped by a limit: the cutoff, or what is held back with all behind it
	walked bool
	more   bool  // the limit came before the cutoff
	ahead  int64 // second of the first entry above the cutoff, if the walk came so far; never: none
	seen   bool  // ahead is known
}

// maxHeldBack is how many entries that are held back one step passes over in each family.
const maxHeldBack = 4096

func newLook(p *ttl.Policy, s *slot, at *pass, now int64, limit int) look {
	inherit, due := p.Cutoffs(now)
	return look{p: p, s: s, now: now, limit: limit, next: never, legs: [2]leg{
		{family: layout.FamilyWritten, at: &at.written, cutoff: inherit, upto: inherit},
		{family: layout.FamilyDeadline, at: &at.deadline, cutoff: due, upto: due},
	}}
}

// take collects the candidates, and finds out when there will be more.
func (l *look) take(ctx context.Context, eng engine.Engine) error {
	for i := range l.legs {
		if g := &l.legs[i]; l.limit > 0 {
			g.at.reach.Store(g.cutoff)
		}
	}
	return viewUnder(&stopwatch{ctx: ctx}, eng, func(r engine.Reader) (err error) {
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

// finish moves the cursors behind what has been looked at and tells whether a limit stopped the look.
func (l *look) finish(survivors []candidate) (more bool) {
	for i := range l.legs {
		g := &l.legs[i]
		for _, v := range survivors {
			if v.family == g.family {
				g.at.survived(v.second)
			}
			if v.next > l.now { // its lease ends then
				l.next = min(l.next, v.next)
			}
		}
		if g.walked && !g.more {
			if g.at.again > 0 {
				l.next = min(l.next, g.at.again)
			}
			g.at.end(g.upto)
		}
		more = more || g.more
	}
	return more
}

// walk collects candidates of one family from the pass's cursor up to the cutoff.
func (l *look) walk(r engine.Reader, g *leg) error {
	from := g.at.second.Load()
	if g.cutoff < from {
		return nil
	}
	g.walked = true
	rg := layout.SlotFamily(l.s.scope, g.family)
	rg.Start = layout.AppendTimeKey(nil, l.s.scope, g.family, from, g.at.rid)
	least, _ := l.delay.bounds()
	held := 0
	it := engine.Expect(r.Scan(rg, false), l.limit+1)
	g.ahead, g.seen = never, true
	for it.Next() {
		second, rid, ok := layout.TimeKeyParts(it.Key())
		if !ok {
			it.Close()
			return engine.ErrCorrupt
		}
		if second > g.cutoff {
			g.ahead = second
			break
		}
		var died int64
		if l.delay != nil {
			if died = diedAt(l.p, g.family, second); died+least > l.now {
				g.upto, g.seen = second-1, false
				g.at.holdBack(second, died+least)
				break
			}
		}
		if len(l.items) == l.limit || held == maxHeldBack {
			g.at.second.Store(second)
			g.at.rid, g.more, g.seen = rid, true, false
			break
		}
		if l.delay != nil {
			if until := died + l.delay.of(rid); until > l.now {
				g.at.holdBack(second, until)
				held++
				continue
			}
		}
		l.items = append(l.items, candidate{rid: rid, second: second, family: g.family})
	}
	return it.Close()
}

// nextExpiry is the second at which the first item above the cutoffs may expire.
func (l *look) nextExpiry(r engine.Reader) error {
	p := l.p
	for _, g := range l.legs {
		if p.Default == ttl.Absent || p.Default == ttl.Never && g.family == layout.FamilyWritten {
			continue
		}
		if !g.seen {
			var err error
			if g.ahead, err = l.firstAbove(r, g.family, g.cutoff); err != nil {
				return err
			}
		}
		if g.ahead == never {
			continue
		}
		if g.family == layout.FamilyWritten {
			g.ahead += int64(p.Default)
		}
		l.next = min(l.next, g.ahead)
	}
	return nil
}

// firstAbove is the second of the first entry of a family above a cutoff; never: there is none.
func (l *look) firstAbove(r engine.Reader, family byte, cutoff int64) (int64, error) {
	rg := layout.SlotFamily(l.s.scope, family)
	rg.Start = layout.AppendTimeKey(nil, l.s.scope, family, max(cutoff, -1)+1, 0)
	it := engine.Expect(r.Scan(rg, false), 1)
	first := int64(never)
	if it.Next() {
		first, _, _ = layout.TimeKeyParts(it.Key())
	}
	return first, it.Close()
}
