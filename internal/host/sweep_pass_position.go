package host

import (
	"sync/atomic"

	"github.com/mayflydb/mayfly/engine"
)

// SweepPassPosition is the position of a reaper's passes over one deadline index. A pass goes from the lowest
// entry that may have to be purged to a cutoff, in several steps. It skips entries that may not be purged
// yet. The next pass begins at the lowest skipped entry. So the reaper reaches the entries after skipped
// ones, even if there are many of those.
//
// Only the goroutine that runs the reaper may use a SweepPassPosition; any goroutine may call IsPast.
type SweepPassPosition struct {
	at            atomic.Int64 // entries below it have been passed; writers compare with it
	reach         atomic.Int64 // the end of the running step, or of the last one; set before the step's view
	id            uint64
	lowestSkipped int64 // lowest entry that the pass skipped; 0: none
	retryAt       int64 // the first moment at which a skipped entry may be purged; 0: none
}

// IsPast reports whether the reaper's pass over the index may already have gone past the time at, so that it
// would not find an entry that was just written there. If so, the writer must set a flag that makes the next
// step of the pass start again. A writer calls IsPast after its commit. Each step of the pass announces its
// cutoff before it reads, so either the step sees the entry, or IsPast sees the cutoff.
func (p *SweepPassPosition) IsPast(at int64) bool { return at <= p.reach.Load() || at < p.at.Load() }

// Restart makes the reaper's pass over its index of deadlines continue at a moment; 0 is the lowest entry. It
// also withdraws the moment that Announce has published. It must not be called while a step of the pass runs.
func (p *SweepPassPosition) Restart(at int64) {
	p.at.Store(at)
	p.reach.Store(-1)
	p.id, p.lowestSkipped, p.retryAt = 0, 0, 0
}

// Survived records that the pass of the reaper over the index has skipped a due entry, because its item
// turned out to be live. at is the entry's time. The next pass begins at the lowest skipped entry.
func (p *SweepPassPosition) Survived(at int64) {
	if p.lowestSkipped == 0 || at < p.lowestSkipped {
		p.lowestSkipped = at
	}
}

// holdBack records that the reaper skips an entry of the index, whose moment is at, because its item may
// not be purged before the moment until.
func (p *SweepPassPosition) holdBack(at, until int64) {
	p.Survived(at)
	if p.retryAt == 0 || until < p.retryAt {
		p.retryAt = until
	}
}

// end records that the reaper's pass over its index of deadlines has reached the moment cutoff. The next pass
// begins after the cutoff, or at the lowest entry that this pass has skipped because it could not be purged
// yet.
func (p *SweepPassPosition) end(cutoff int64) {
	if p.lowestSkipped > 0 {
		cutoff = min(cutoff, p.lowestSkipped-1)
	}
	p.Restart(cutoff + 1)
}

// maxHeldBack is the maximum number of entries that one step skips because their items must not be purged
// yet.
const maxHeldBack = 4096

// SweepEntryAction is what a step of the reaper does with an entry of a deadline index that is due: purge it,
// skip it, or stop before it.
type SweepEntryAction struct {
	kind  sweepActionKind
	until int64
}

// sweepActionKind is the kind of a SweepEntryAction: purge the entry (Take), skip it (Wait), or stop before
// it (AllWait).
type sweepActionKind uint8

const (
	actionTake sweepActionKind = iota
	actionWait
	actionAllWait
)

// Take returns the action that purges an entry of a deadline index.
func Take() SweepEntryAction { return SweepEntryAction{} }

// Wait returns the action of the reaper that skips an entry of a deadline index, because the item of the
// entry must not be purged before the moment until.
func Wait(until int64) SweepEntryAction { return SweepEntryAction{actionWait, until} }

// AllWait returns the action for an entry of a deadline index if neither it nor any later entry may be purged
// before the moment until: the step of the reaper ends before this entry.
func AllWait(until int64) SweepEntryAction { return SweepEntryAction{actionAllWait, until} }

// SweepPassStep is one step of a reaper's pass over a deadline index: it reads, in one View of the engine,
// the entries from the position of the pass up to a cutoff. Call Announce, then Walk in the View, then
// Finish.
type SweepPassStep struct {
	Pass   *SweepPassPosition
	Prefix []byte // of the index
	Cutoff int64  // the last moment that is due; negative: no moment is due

	upto   int64 // the end of the walk, unless a limit stopped it: the cutoff, or before AllWait
	walked bool
	more   bool  // the limit stopped the walk before the cutoff
	ahead  int64 // moment of the first entry above the cutoff, if the walk reached it; Never: none
	seen   bool  // ahead has been set
}

// Announce publishes up to which moment a step of the reaper will read its index of deadlines (Cutoff). A
// writer of an entry up to that moment then learns from IsPast that the step may miss the entry. Announce
// must be called before the step opens its view of the engine.
func (s *SweepPassStep) Announce() { s.Pass.reach.Store(s.Cutoff) }

// Walk appends the due entries to found until it holds limit of them. For each entry, judge returns whether
// to purge it now, to skip it, or to stop before it; if judge is nil, Walk takes all of them.
func (s *SweepPassStep) Walk(r engine.Reader, found []DeadlineIndexEntry, limit int,
	judge func(DeadlineIndexEntry) SweepEntryAction) ([]DeadlineIndexEntry, error) {
	from := s.Pass.at.Load()
	s.upto = s.Cutoff
	if s.Cutoff < from {
		return found, nil
	}
	s.walked, s.ahead, s.seen = true, Never, true
	rg := engine.Prefix(s.Prefix)
	rg.Start = AppendEntry(append([]byte(nil), s.Prefix...), DeadlineIndexEntry{from, s.Pass.id})
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
		if v.kind == actionAllWait {
			s.upto, s.seen = e.At-1, false
			s.Pass.holdBack(e.At, v.until)
			break
		}
		if len(found) == most || held == maxHeldBack {
			s.Pass.at.Store(e.At)
			s.Pass.id, s.more, s.seen = e.ID, true, false
			break
		}
		if v.kind == actionWait {
			s.Pass.holdBack(e.At, v.until)
			held++
			continue
		}
		found = append(found, e)
	}
	return found, it.Close()
}

// Stopped reports whether the step's Walk over the deadline index has ended before the last entry that is
// due, because it had found as many entries as its limit allows.
func (s *SweepPassStep) Stopped() bool { return s.more }

// Ahead returns the moment of the first entry of the deadline index after the step's cutoff, or Never if
// there is none. It is called in the step's View of the engine, after Walk or without it.
func (s *SweepPassStep) Ahead(r engine.Reader) (int64, error) {
	if s.seen {
		return s.ahead, nil
	}
	return FirstAfter(r, s.Prefix, s.Cutoff)
}

// Finish ends the step. more reports that Walk has stopped at its limit, so that the next step continues the
// pass; again is then Never. Otherwise the pass ends too, and again is the moment at which the first of the
// skipped entries may be purged; Never: none was skipped. Before Finish, Pass.Survived must have been called
// for the entries that Walk has returned but whose items are live.
func (s *SweepPassStep) Finish() (more bool, again int64) {
	again = Never
	if s.walked && !s.more {
		if s.Pass.retryAt > 0 {
			again = s.Pass.retryAt
		}
		s.Pass.end(s.upto)
	}
	return s.more, again
}
