package exec

import (
	"errors"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
	"slices"
	"strconv"
	"strings"
)

// How the documents of a source are found is decided when the source is opened, by counting. All ways that
// the conditions propose, and the posting of the scope's partition key, are read in turns, a few entries of
// each at a time. The first that comes to its end is the shortest: what has been read of it is all of its
// rids. So the cost of the decision is bounded by the shortest way times the number of ways, and neither the
// order of the conditions in the text nor their looks matter. Where none ends soon, posting lists are
// intersected as they lie; ranges alone are given up, because much is wanted then and looking at the
// documents one after the other finds it. If it does not (see trial), the ranges are read to their ends after
// all.

// Tuning is how much is read before a choice is made.
type Tuning struct {
	Probe  int // entries of each way, at first
	Gather int // entries of a range, before a page looks at every document instead
	Every  int // the same where all documents that are wanted are going to be read
	Sort   int // documents that are sorted before an index that has them in order is walked instead
	Rows   int // the same for each row that a page can have
	Walk   int // documents that a walk reads before it is asked whether there is a better way
	Leap   int // documents that are read without a look whether other posting lists have them, too
	// documents that are looked at, one after the other, before it is asked again whether an index leads to
	// those that are wanted: it does where fewer than one in share was one
	Trial, Share int
	// entries that a walk passes for each document that would have to be sorted instead
	Patience int
	Groups   int // that a page makes of the terms of an index
}

// usual is the tuning that queries run with.
func usual() *Tuning {
	return &Tuning{Probe: 1000, Gather: 10_001, Every: 500_000, Sort: 4000, Rows: 64, Walk: 256, Leap: 32,
		Trial: 2048, Share: 20, Patience: 16, Groups: 16_384}
}

// probes is the choice among the ways of one source.
type probes struct {
	x    *Execution
	src  source.Source
	ways []*accessPath
	most int // entries that have been read of each, where it has as many
	held int // bytes
}

// newProbes begins to count the ways that leave accepts.
func (x *Execution) newProbes(src source.Source, leave func(plan.Access) bool) *probes {
	p := &probes{x: x, src: src}
	for _, a := range x.Plan.AccessPaths {
		if leave == nil || leave(a) {
			p.ways = append(p.ways, &accessPath{access: a, next: x.steppers(src, a)})
		}
	}
	if isScoped(src) {
		p.ways = append(p.ways, &accessPath{next: []func() stepper{func() stepper {
			posting, _ := src.Partition()
			return postingStepper{posting}
		}}})
	}
	return p
}

// Count reads all ways in turns until one has ended or most entries have been read of each. It reports
// whether one has.
func (p *probes) count(most int) (bool, error) {
	if !slices.ContainsFunc(p.ways, func(w *accessPath) bool { return !w.sifts() }) {
		most *= siftedMore
	}
	for step := 32; p.most < most && len(p.ways) > 0 && !p.ended(); step *= 2 {
		if err := p.x.look(); err != nil {
			return false, err
		}
		if p.x.late && most < p.x.tune.Every {
			break // what is left of the time is for the documents
		}
		step = min(step, most-p.most)
		for _, w := range p.ways {
			if err := p.read(w, step); err != nil {
				return false, err
			}
		}
		p.most += step
		if err := p.dropVain(); err != nil {
			return false, err
		}
	}
	return p.ended(), nil
}

// siftedMore is how many times as many entries are read of terms that are tested: few of them are kept.
const siftedMore = 100

// dropVain gives up the ways that have turned out to be of no use.
func (p *probes) dropVain() (err error) {
	p.ways = slices.DeleteFunc(p.ways, func(w *accessPath) bool {
		vain := w.vain()
		if vain {
			err = errors.Join(err, w.close())
		}
		return vain
	})
	return err
}

// countOn reads the ways that have not ended up to that many entries.
func (p *probes) countOn(most int) error {
	for _, w := range p.ways {
		if err := p.read(w, most-w.read); err != nil {
			return err
		}
	}
	return nil
}

func (p *probes) read(w *accessPath, n int) error {
	before := cap(w.rids)
	if err := w.more(p.x, n); err != nil {
		return err
	}
	p.x.Run.Hold(&p.held, 8*(cap(w.rids)-before), "an index")
	return p.x.Run.Err
}

func (p *probes) ended() bool {
	return slices.ContainsFunc(p.ways, func(w *accessPath) bool { return w.done })
}

// Rids returns what all the ways that have ended have in common, in order. One has.
func (p *probes) rids() []uint64 {
	var all []uint64
	first := true
	slices.SortFunc(p.ways, func(a, b *accessPath) int { return len(a.rids) - len(b.rids) })
	for _, w := range p.ways {
		if !w.done {
			continue
		}
		slices.Sort(w.rids)
		w.rids = slices.Compact(w.rids)
		if first {
			all, first = w.rids, false
			continue
		}
		all = common(all, w.rids)
	}
	return all
}

// common returns the members of a that b has as well; both are in order.
func common(a, b []uint64) (both []uint64) {
	for _, rid := range a {
		i, found := slices.BinarySearch(b, rid)
		if b = b[i:]; found {
			both = append(both, rid)
		}
	}
	return both
}

func (p *probes) close() (err error) {
	for _, w := range p.ways {
		if e := w.close(); err == nil {
			err = e
		}
	}
	return err
}

// release gives back the memory of rids that nobody needs any more.
func (p *probes) release() { p.x.Run.Used -= p.held; p.held = 0 }

// note keeps in mind what was chosen, if anybody is going to ask.
func (p *probes) note(how string) {
	if !p.x.Opts.Trace {
		return
	}
	n := choice{how: how}
	for _, w := range p.ways {
		text := w.String()
		switch {
		case w.done:
			text += ": " + strconv.Itoa(len(w.rids))
		case w.read > 0:
			text += ": more than " + strconv.Itoa(w.read)
		}
		n.ways = append(n.ways, text)
	}
	if stats := &p.x.page.Stats; len(stats.choices) < maxChoices {
		stats.choices = append(stats.choices, n)
	}
}

// maxChoices is how many choices a page keeps in mind.
const maxChoices = 16

// choice is what was decided in one source, for Explain.
type choice struct {
	how  string
	ways []string // with what was counted of each
}

func (c choice) String() string {
	return "chosen: " + c.how + " of (" + strings.Join(c.ways, "; ") + ")"
}

// pick opens the rids of the documents that may be wanted, in order. It is false where all documents are to
// be looked at. every reports that all that are wanted are going to be read; else a page of them.
func (x *Execution) pick(src source.Source, every bool) (_ source.Postings, ok bool, err error) {
	p := x.newProbes(src, func(a plan.Access) bool {
		s, ok := a.(*plan.SpansAccess)
		return every || !ok || !s.Whole
	})
	defer func() { err = errors.Join(err, p.close()) }()
	x.scanning = len(x.Plan.AccessPaths) > 0
	switch {
	case len(p.ways) == 0, len(p.ways) == 1 && p.ways[0].access == nil: // a scan follows the posting
		return nil, false, nil
	case !slices.ContainsFunc(p.ways, func(w *accessPath) bool { return !w.lists() }):
		return p.lists()
	}
	most := x.tune.Gather
	if every {
		most = x.tune.Every
	} else if slices.ContainsFunc(p.ways, (*accessPath).lists) {
		most = x.tune.Probe
	}
	ended, err := p.count(most)
	if err != nil {
		return nil, false, err
	}
	if !ended {
		p.release()
		return p.lists()
	}
	x.scanning = false
	if every { // a little more, if that saves documents
		shortest := p.most
		if err := p.countOn(8 * shortest); err != nil {
			return nil, false, err
		}
	}
	return p.shortest(), true, nil
}

// Lists intersects the posting lists alone. It is false where there are none but the partition's own, which a
// scan follows.
func (p *probes) lists() (source.Postings, bool, error) {
	var list []source.Postings
	for _, w := range p.ways {
		if w.access != nil && w.lists() && len(list) < plan.MaxOpen {
			list = append(list, p.x.list(p.src, w.access))
		}
	}
	if len(list) == 0 {
		p.note("scan")
		return nil, false, nil
	}
	p.x.scanning = false
	if partition, scoped := p.src.Partition(); scoped {
		list = append(list, partition)
	}
	if len(list) == 1 {
		return list[0], true, nil
	}
	p.note("posting lists")
	return p.x.intersect(list), true, nil
}

// shortest has the rids of the ways that have ended, and those of the posting lists that have not where that
// saves documents.
func (p *probes) shortest() source.Postings {
	rids := p.rids()
	var first source.Postings = &SortedRIDs{Rids: rids, release: p.release}
	p.note("rids, " + strconv.Itoa(len(rids)))
	if len(rids) <= p.x.tune.Leap {
		return first
	}
	list := []source.Postings{first}
	for _, w := range p.ways {
		if w.done || !w.lists() {
			continue
		}
		if w.access == nil {
			partition, _ := p.src.Partition()
			list = append(list, partition)
		} else if len(list) < plan.MaxOpen {
			list = append(list, p.x.list(p.src, w.access))
		}
	}
	if len(list) == 1 {
		return first
	}
	return p.x.intersect(list)
}
