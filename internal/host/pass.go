package host

import (
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
)

// Pass is where the passes of a reaper over one index of deadlines stand. A pass goes from the lowest entry
// that can matter to a cutoff, over as many steps as it takes, and leaves behind what survives; the next pass
// begins at the lowest survivor. So a crowd of things that somebody keeps never keeps the reaper from what
// lies behind them.
//
// It belongs to whoever has the reaper's turn, but for IsPast.
type Pass struct {
	at    atomic.Int64 // what is below it has been left behind; writers compare with it
	reach atomic.Int64 // how far the step under way can come, or the last one could: set before its view
	id    uint64
	low   int64 // lowest survivor of the pass; 0: none
	again int64 // the moment from which on one that the pass left behind may be purged; 0: none was
}

// IsPast reports whether a pass may have left a moment of the index behind already. A writer asks when its
// commit can be seen: a step whose view came before that has announced by then how far it goes, and one whose
// view comes later meets what was written. Where the answer is yes the writer has the passes begin anew, by a
// flag that the next step looks at.
func (p *Pass) IsPast(at int64) bool { return at <= p.reach.Load() || at < p.at.Load() }

// Restart lets the pass go on at a moment; 0 is the head. No step is under way: what was announced for the
// last one is over, since it has moved the pass already.
func (p *Pass) Restart(at int64) {
	p.at.Store(at)
	p.reach.Store(-1)
	p.id, p.low, p.again = 0, 0, 0
}

// Survived notes an entry that the pass leaves behind.
func (p *Pass) Survived(at int64) {
	if p.low == 0 || at < p.low {
		p.low = at
	}
}

// holdBack notes an entry that the pass leaves behind because it may not be purged before a moment.
func (p *Pass) holdBack(at, until int64) {
	p.Survived(at)
	if p.again == 0 || until < p.again {
		p.again = until
	}
}

// end finishes a pass that has reached the cutoff.
func (p *Pass) end(cutoff int64) {
	if p.low > 0 {
		cutoff = min(cutoff, p.low-1)
	}
	p.Restart(cutoff + 1)
}

// maxHeldBack is how many entries that are held back one step passes over.
const maxHeldBack = 4096

// SweepAction is what a step does with an entry that is due.
type SweepAction struct {
	kind  sweepActionKind
	until int64
}

type sweepActionKind uint8

const (
	takes sweepActionKind = iota
	waits
	allWait
)

// Take makes the entry a candidate.
func Take() SweepAction { return SweepAction{} }

// Wait passes the entry by: it may not be purged before a moment.
func Wait(until int64) SweepAction { return SweepAction{waits, until} }

// AllWait ends the step before the entry: neither it nor anything behind it may be purged before a moment.
func AllWait(until int64) SweepAction { return SweepAction{allWait, until} }

// Step is one step of a pass: a look from where the pass stands to a cutoff, in a view. Use: Announce, then
// in the view Walk, then Finish.
type Step struct {
	Pass   *Pass
	Prefix []byte // of the index
	Cutoff int64  // the last moment that is due; negative: none is

	upto   int64 // how far it came, where no limit stopped it: the cutoff, or before AllWait
	walked bool
	more   bool  // the limit came before the cutoff
	ahead  int64 // moment of the first entry above the cutoff, if the walk came so far; Never: none
	seen   bool  // ahead is known
}

// Announce tells writers how far the step can come. It comes before the view.
func (s *Step) Announce() { s.Pass.reach.Store(s.Cutoff) }

// Walk appends the entries that are due to found, until there are limit of them. judge, where it is not nil,
// can have an entry wait.
func (s *Step) Walk(r engine.Reader, found []Entry, limit int,
	judge func(Entry) SweepAction) ([]Entry, error) {
	from := s.Pass.at.Load()
	s.upto = s.Cutoff
	if s.Cutoff < from {
		return found, nil
	}
	s.walked, s.ahead, s.seen = true, Never, true
	rg := engine.Prefix(s.Prefix)
	rg.Start = AppendEntry(append([]byte(nil), s.Prefix...), Entry{from, s.Pass.id})
	it := engine.Expect(r.Scan(rg, false), limit+1)
	held, most := 0, len(found)+limit
	for it.Next() {
		e, err := ParseEntry(len(s.Prefix), it.Key())
		if err != nil {
			it.Close()
			return found, err
		}
		if e.At > s.Cutoff {
			s.ahead = e.At
			break
		}
		v := Take()
		if judge != nil {
			v = judge(e)
		}
		if v.kind == allWait {
			s.upto, s.seen = e.At-1, false
			s.Pass.holdBack(e.At, v.until)
			break
		}
		if len(found) == most || held == maxHeldBack {
			s.Pass.at.Store(e.At)
			s.Pass.id, s.more, s.seen = e.ID, true, false
			break
		}
		if v.kind == waits {
			s.Pass.holdBack(e.At, v.until)
			held++
			continue
		}
		found = append(found, e)
	}
	return found, it.Close()
}

// Ahead is the moment of the first entry above the cutoff; Never: there is none. It can be asked in the view,
// without a Walk too.
func (s *Step) Ahead(r engine.Reader) (int64, error) {
	if s.seen {
		return s.ahead, nil
	}
	return FirstAfter(r, s.Prefix, s.Cutoff)
}

// Finish moves the pass behind what has been looked at. more reports that a limit stopped the step. again is
// the moment from which on something that waits may be purged; Never: nothing waits, or the pass goes on
// before. Survivors are noted before, by Pass.Survived.
func (s *Step) Finish() (more bool, again int64) {
	again = Never
	if s.walked && !s.more {
		if s.Pass.again > 0 {
			again = s.Pass.again
		}
		s.Pass.end(s.upto)
	}
	return s.more, again
}
