package exec

import (
	"errors"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
	"slices"
	"strconv"
	"strings"
)

// The access path of a source is chosen when the source is opened, by counting. All access paths of the
// conditions, and the posting list of the scope's partition key, are read in turns, a few entries of each at
// a time. The first that ends is the shortest: its rids have then been read completely. So the choice costs
// at most the length of the shortest path times the number of paths, and does not depend on the order and
// form of the conditions in the query.
//
// If no path ends soon, posting lists are intersected while they are read. Ranges are not read further,
// since so many documents then match that a scan of all documents finds them quickly. If the scan finds too
// few (see Trial), the ranges are read to their ends after all.

// AccessPathLimits holds the limits that guide the choice of access paths.
type AccessPathLimits struct {
	Probe  int // entries of each path, at first
	Gather int // entries of a range that are read before the page scans all documents instead
	Every  int // like Gather, if the page reads all matching documents
	Sort   int // maximum number of documents that are sorted instead of walking an index in the right order
	Rows   int // like Sort, for each row that a page can have
	Walk   int // documents that a walk reads before a cheaper way is considered
	Leap   int // documents that are read without looking them up in other posting lists
	// Trial is how many documents are scanned before an index is considered again. The index is used if fewer
	// than one in Share of them has matched.
	Trial, Share int
	// how many index entries a scan in the order of the query may skip for each document that would have to
	// be sorted instead, before sorting is considered
	Patience int
	Groups   int // groups that a page makes from the terms of an index
}

// usual returns the limits that guide the choice of access paths in normal queries, such as how many entries
// of each path are read at first. Tests use other limits.
func usual() *AccessPathLimits {
	return &AccessPathLimits{Probe: 1000, Gather: 10_001, Every: 500_000, Sort: 4000, Rows: 64, Walk: 256,
		Leap:  32,
		Trial: 2048, Share: 20, Patience: 16, Groups: 16_384}
}

// accessPathChooser chooses among the access paths of one source by reading the first entries of each, to
// find one that lists few documents.
type accessPathChooser struct {
	x     *Execution
	src   source.DocumentSource
	paths []*candidateAccessPath
	most  int // entries to read of each path; fewer if the path ends
	held  int // memory in bytes
}

// newProbes returns an accessPathChooser, which counts the index entries of the plan's access paths in src to
// find the shortest one. It covers the paths for which leave returns true, or all paths if leave is nil. If
// the scope is one logical partition, the posting list of the partition is one more path.
func (x *Execution) newProbes(src source.DocumentSource,
	leave func(plan.IndexAccess) bool) *accessPathChooser {
	p := &accessPathChooser{x: x, src: src}
	for _, a := range x.Plan.AccessPaths {
		if leave == nil || leave(a) {
			p.paths = append(p.paths, &candidateAccessPath{access: a, next: x.steppers(src, a)})
		}
	}
	if isScoped(src) {
		p.paths = append(p.paths, &candidateAccessPath{next: []func() indexEntryStepper{func() indexEntryStepper {
			posting, _ := src.Partition()
			return postingListStepper{posting}
		}}})
	}
	return p
}

// count reads index entries of all access paths, some of each in turn, until one path has been read
// completely or the given number of entries (most) has been read of each. It reports whether one has been
// read completely.
func (p *accessPathChooser) count(most int) (bool, error) {
	if !slices.ContainsFunc(p.paths, func(w *candidateAccessPath) bool { return !w.testsTerms() }) {
		most *= testedFactor
	}
	for step := 32; p.most < most && len(p.paths) > 0 && !p.ended(); step *= 2 {
		if err := p.x.checkTime(); err != nil {
			return false, err
		}
		if p.x.late && most < p.x.tune.Every {
			break // the remaining time is for the documents
		}
		step = min(step, most-p.most)
		for _, w := range p.paths {
			if err := p.read(w, step); err != nil {
				return false, err
			}
		}
		p.most += step
		if err := p.dropUseless(); err != nil {
			return false, err
		}
	}
	return p.ended(), nil
}

// testedFactor multiplies the maximum number of entries that are read of each access path, if all of the
// paths read every index entry at their document path and test its value. Few of these entries pass the test.
const testedFactor = 100

// dropUseless closes and drops the candidate access paths that do not narrow the search.
func (p *accessPathChooser) dropUseless() (err error) {
	p.paths = slices.DeleteFunc(p.paths, func(w *candidateAccessPath) bool {
		vain := w.isUseless()
		if vain {
			err = errors.Join(err, w.close())
		}
		return vain
	})
	return err
}

// countOn continues to count the index entries of each access path that has not been read to its end, until
// the given number of entries (most) has been read of each.
func (p *accessPathChooser) countOn(most int) error {
	for _, w := range p.paths {
		if err := p.read(w, most-w.read); err != nil {
			return err
		}
	}
	return nil
}

func (p *accessPathChooser) read(w *candidateAccessPath, n int) error {
	before := cap(w.rids)
	if err := w.more(p.x, n); err != nil {
		return err
	}
	p.x.Run.Hold(&p.held, 8*(cap(w.rids)-before), "an index")
	return p.x.Run.Err
}

func (p *accessPathChooser) ended() bool {
	return slices.ContainsFunc(p.paths, func(w *candidateAccessPath) bool { return w.done })
}

// rids returns the sorted intersection of all access paths that have been read completely. At least one must
// have been.
func (p *accessPathChooser) rids() []uint64 {
	var all []uint64
	first := true
	slices.SortFunc(p.paths, func(a, b *candidateAccessPath) int { return len(a.rids) - len(b.rids) })
	for _, w := range p.paths {
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

// common returns the intersection of a and b; both are sorted.
func common(a, b []uint64) (both []uint64) {
	for _, rid := range a {
		i, found := slices.BinarySearch(b, rid)
		if b = b[i:]; found {
			both = append(both, rid)
		}
	}
	return both
}

func (p *accessPathChooser) close() (err error) {
	for _, w := range p.paths {
		if e := w.close(); err == nil {
			err = e
		}
	}
	return err
}

// release returns the memory of rids that are no longer used.
func (p *accessPathChooser) release() { p.x.Run.Used -= p.held; p.held = 0 }

// note records the choice for Explain, if the run is traced.
func (p *accessPathChooser) note(how string) {
	if !p.x.Opts.Trace {
		return
	}
	n := accessPathChoice{method: how}
	for _, w := range p.paths {
		text := w.String()
		switch {
		case w.done:
			text += ": " + strconv.Itoa(len(w.rids))
		case w.read > 0:
			text += ": more than " + strconv.Itoa(w.read)
		}
		n.paths = append(n.paths, text)
	}
	if stats := &p.x.page.Stats; len(stats.choices) < maxChoices {
		stats.choices = append(stats.choices, n)
	}
}

// maxChoices is the maximum number of choices of an access path that the statistics of a page contain; a
// query makes one for each source.
const maxChoices = 16

// accessPathChoice records how a page found the documents of one source: the access paths that it tried,
// and the method that it chose. Explain shows it.
type accessPathChoice struct {
	method string
	paths  []string // the paths with their counts
}

func (c accessPathChoice) String() string {
	return "chosen: " + c.method + " of (" + strings.Join(c.paths, "; ") + ")"
}

// pick returns the rids of the documents that may match, in order. ok is false if all documents have to be
// scanned. every reports that the caller reads all matching documents, not just a page.
func (x *Execution) pick(src source.DocumentSource, every bool) (_ source.PostingIterator, ok bool,
	err error) {
	p := x.newProbes(src, func(a plan.IndexAccess) bool {
		s, ok := a.(*plan.SpansAccess)
		return every || !ok || !s.Whole
	})
	defer func() { err = errors.Join(err, p.close()) }()
	x.scanning = len(x.Plan.AccessPaths) > 0
	switch {
	case len(p.paths) == 0, len(p.paths) == 1 && p.paths[0].access == nil: // a scan uses the posting list itself
		return nil, false, nil
	case !slices.ContainsFunc(p.paths, func(w *candidateAccessPath) bool { return !w.lists() }):
		return p.lists()
	}
	most := x.tune.Gather
	if every {
		most = x.tune.Every
	} else if slices.ContainsFunc(p.paths, (*candidateAccessPath).lists) {
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
	if every { // counts a little further, if that saves documents
		shortest := p.most
		if err := p.countOn(8 * shortest); err != nil {
			return nil, false, err
		}
	}
	return p.shortest(), true, nil
}

// lists intersects the posting lists alone. It returns false if the only posting list is the one of the
// logical partition, which a scan uses anyway.
func (p *accessPathChooser) lists() (source.PostingIterator, bool, error) {
	var list []source.PostingIterator
	for _, w := range p.paths {
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

// shortest returns the rids that are in all access paths that have been read completely. If they are many, it
// also intersects them, while they are iterated, with the posting lists that have not been read, so that
// fewer documents are read.
func (p *accessPathChooser) shortest() source.PostingIterator {
	rids := p.rids()
	var first source.PostingIterator = &SortedRIDListIterator{Rids: rids, release: p.release}
	p.note("rids, " + strconv.Itoa(len(rids)))
	if len(rids) <= p.x.tune.Leap {
		return first
	}
	list := []source.PostingIterator{first}
	for _, w := range p.paths {
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
