package exec

import (
	"slices"

	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// eachEntry calls fn for each index entry in spans that passes sieve, except the entries of dead documents
// (expired or deleted, but not purged), whose rids dead lists. If sure is false, the entry does not decide
// whether the document matches, and the caller has to read the document.
func (x *Execution) eachEntry(src indexOnlySource, spans []plan.KeySpan, sieve *indexTermFilter,
	fn func(key []byte, rid uint64, sure bool) error) (err error) {
	for _, s := range spans {
		terms := src.Terms(s.Lo, s.Hi, false)
		for err == nil && terms.Next() {
			if err = x.passEntry(); err != nil || hasRID(src.dead, terms.RID()) {
				continue
			}
			if in, sure := sieve.take(terms.Key()); in {
				err = fn(terms.Key(), terms.RID(), sure)
			}
		}
		if e := terms.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readAndMatch reads a document whose index term did not decide whether it matches, makes it the current
// document, and reports whether it matches the conditions.
func (x *Execution) readAndMatch(src source.DocumentSource, rid uint64) (bool, error) {
	d, live, err := src.Fetch(rid)
	if err != nil || !live {
		return false, err
	}
	return x.enter(d, x.Plan.Rows), nil
}

// onlyFrom computes, from the indexes alone, the aggregates or groups of a plan that allows this: a count
// of documents, aggregates of values, or groups by value. done is false if that is not possible, or if
// reading the documents is cheaper.
func (x *Execution) onlyFrom(g *eval.Grouper) (done bool, err error) {
	o := x.Plan.IndexOnly
	switch {
	case o == nil:
		return false, nil
	case o.Kind == plan.CountAll:
		total, ok := x.countAll()
		return ok, g.Counted(total)
	}
	sources, ok, err := x.indexOnlySources()
	if err != nil || !ok {
		return false, err
	}
	switch o.Kind {
	case plan.CountWanted:
		return true, x.countWanted(g, sources)
	case plan.OfValues:
		return x.aggregateValues(g, sources)
	}
	return true, x.groupTerms(g, sources)
}

func (x *Execution) countAll() (total int64, ok bool) {
	for _, src := range x.sources {
		c, ok := src.(source.DocumentCounter)
		if !ok {
			return 0, false
		}
		n, ok := c.Count()
		if !ok {
			return 0, false
		}
		total += n
	}
	return total, true
}

// countWanted sets the result of the aggregates to the number of index entries that match all conditions.
func (x *Execution) countWanted(g *eval.Grouper, sources []indexOnlySource) error {
	total := int64(0)
	for _, src := range sources {
		n, err := x.countIn(src)
		if err != nil {
			return err
		}
		total += n
	}
	return g.Counted(total)
}

func (x *Execution) countIn(src indexOnlySource) (n int64, err error) {
	if l := x.Plan.IndexOnly.Constraint; l != nil {
		return x.countSpans(src, l.Spans, x.newTermFilter(testOf(l)))
	}
	return x.countCommon(src)
}

// countSpans counts the entries in spans that belong to live documents and match the conditions.
func (x *Execution) countSpans(src indexOnlySource, spans []plan.KeySpan,
	sieve *indexTermFilter) (n int64, err error) {
	if c, ok := src.DocumentSource.(source.IndexEntryCounter); ok && len(src.dead) == 0 && sieve == nil {
		for _, s := range spans {
			in, err := c.CountEntries(s.Lo, s.Hi, x.passCounted)
			if x.passEntries(in); err != nil {
				return 0, err
			}
			n += in
		}
		return n, nil
	}
	err = x.eachEntry(src, spans, sieve, func(_ []byte, rid uint64, sure bool) (err error) {
		if !sure {
			sure, err = x.readAndMatch(src, rid)
		}
		if sure {
			n++
		}
		return err
	})
	return n, err
}

// testOf returns the test that index terms in the constraint's spans must pass to match the condition. It
// returns nil if all terms in the spans match.
func testOf(l *plan.Constraint) *plan.IndexTermTest {
	if !l.Superset {
		return nil
	}
	return l.Test
}

// countCommon counts the documents that match conditions on several paths, by intersecting the lists of index
// entries of these paths. If the shortest of the lists is short, it reads the documents of that list instead.
func (x *Execution) countCommon(src indexOnlySource) (n int64, err error) {
	p := x.newProbes(src, nil)
	short, err := p.count(x.tune.Probe)
	if e := p.close(); err == nil {
		err = e
	}
	defer p.release()
	if err != nil {
		return 0, err
	}
	var all, unsure []uint64
	if short {
		p.note("rids")
		all = p.rids()
		unsure = all
	} else if all, unsure, err = x.intersection(src, p); err != nil {
		return 0, err
	}
	for _, rid := range all {
		if hasRID(src.dead, rid) {
			continue
		}
		if !hasRID(unsure, rid) {
			n++
			continue
		}
		in, err := x.readAndMatch(src, rid)
		if err != nil {
			return 0, err
		}
		if in {
			n++
		}
	}
	return n, nil
}

// intersection returns the rids that match all constraints of the plan, and as unsure those for which an
// index term does not decide. Both lists are sorted.
func (x *Execution) intersection(src indexOnlySource, p *accessPathChooser) (all, unsure []uint64, err error) {
	for i, l := range x.Plan.Constraints {
		var rids []uint64
		held := 0
		sieve := x.newTermFilter(testOf(l))
		err := x.eachEntry(src, l.Spans, sieve, func(_ []byte, rid uint64, sure bool) error {
			if rids = append(rids, rid); !sure {
				unsure = append(unsure, rid)
			}
			if n := 8 * cap(rids); n > held {
				x.Run.Hold(&p.held, n-held, "an index")
				held = n
			}
			return x.Run.Err
		})
		if err != nil {
			return nil, nil, err
		}
		slices.Sort(rids)
		if i == 0 {
			all = rids
		} else {
			all = common(all, rids)
		}
	}
	slices.Sort(unsure)
	return all, unsure, nil
}
