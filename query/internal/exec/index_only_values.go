package exec

import (
	"bytes"
	"errors"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// aggregateValues computes COUNT, MIN, MAX, SUM and AVG of the values at paths. done is false if the values
// cannot be computed from the index.
func (x *Execution) aggregateValues(g *eval.Grouper, sources []indexOnlySource) (done bool, err error) {
	o := x.Plan.IndexOnly
	for i, arg := range o.Args {
		switch state := g.Groups[0].State[i].(type) {
		case *lang.CountAggregate:
			bounds := arg.Bounds
			if arg.Path == nil && o.Constraint == nil {
				if state.N, done = x.countAll(); !done {
					return false, nil
				}
			} else if arg.Path == nil {
				bounds = o.Constraint.Spans
			}
			if err := x.countValues(state, bounds, sources); err != nil {
				return false, err
			}
		case *lang.MinMaxAggregate:
			for _, src := range sources {
				if err := x.extremesOf(state, arg, src); err != nil {
					return false, err
				}
			}
		case *lang.SumAverageAggregate:
			if exact, err := x.sumValues(state, arg, sources); !exact || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// countValues adds to c the number of index entries in spans, without those of dead documents (expired or
// deleted, but not purged).
func (x *Execution) countValues(c *lang.CountAggregate, spans []plan.KeySpan, sources []indexOnlySource) error {
	for _, src := range sources {
		n, err := x.countSpans(src, spans, x.indexOnlyFilter())
		if err != nil {
			return err
		}
		c.N += n
	}
	return nil
}

// sumValues sums the values at a path in the order of the index. A sum of doubles depends on their order,
// and the query's sum is in the order of the documents. exact is true only if all partial sums are integers
// that a double represents exactly: the order then does not matter.
func (x *Execution) sumValues(sum *lang.SumAverageAggregate, arg plan.IndexOnlyArg,
	sources []indexOnlySource) (exact bool,
	err error) {
	size := 0.0
	for _, src := range sources {
		sieve := x.indexOnlyFilter()
		err := x.eachEntry(src, arg.Bounds, sieve, func(key []byte, rid uint64, sure bool) error {
			v, told := plan.ExactTerm(key)
			if !sure || !told {
				if in, err := x.readAndMatch(src, rid); !in {
					return err
				}
				v = arg.Value(x.f)
			}
			sum.Add(v)
			if v.Kind() == jsondoc.Number {
				if size += math.Abs(v.Num()); v.Num() != math.Trunc(v.Num()) || !(size < lang.MaxExact) {
					return errInexact
				}
			}
			return nil
		})
		if err != nil {
			if err == errInexact {
				err = nil
			}
			return false, err
		}
	}
	return true, nil
}

// errInexact ends a sum that would depend on the order of its numbers.
var errInexact = errors.New("query: the sum depends on the order of its numbers")

// indexOnlyFilter returns a filter that tests index terms against the condition. It returns nil if all terms
// in the spans match: if there is no condition, or if the spans contain only matching terms.
func (x *Execution) indexOnlyFilter() *termFilter {
	if l := x.Plan.IndexOnly.Constraint; l != nil {
		return x.newTermFilter(testOf(l))
	}
	return nil
}

// extremesOf adds the least and the greatest value of a source to MIN or MAX. MIN needs the greatest value
// too: if that is an array or an object, which sort after all other values, the result is undefined.
func (x *Execution) extremesOf(e *lang.MinMaxAggregate, arg plan.IndexOnlyArg,
	src indexOnlySource) error {
	end := extremeValueFinder{x: x, src: src, arg: arg, to: e, sieve: x.indexOnlyFilter()}
	if err := end.of(arg.Bounds, false); err != nil {
		return err
	}
	back := slices.Clone(arg.Bounds)
	slices.Reverse(back)
	return end.of(back, true)
}

// extremeValueFinder finds the least or the greatest value at a path in one source, and adds it to MIN or
// MAX.
type extremeValueFinder struct {
	x     *Execution
	src   indexOnlySource
	arg   plan.IndexOnlyArg
	to    *lang.MinMaxAggregate
	sieve *termFilter
}

// of searches the index entries in spans for the first value that matches the conditions, or the last one
// with reverse, and adds it to the MIN or MAX that is being computed. It adds nothing if none matches.
func (e *extremeValueFinder) of(spans []plan.KeySpan, reverse bool) error {
	for _, s := range spans {
		for {
			key, err := e.first(s, reverse)
			if key == nil || err != nil {
				if err != nil {
					return err
				}
				break
			}
			if found, err := e.take(key); found || err != nil {
				return err
			}
			if reverse {
				s.Hi = key
			} else {
				s.Lo = append(bytes.Clone(key), 0xFF)
			}
		}
	}
	return nil
}

// first returns the first key in a span (the last one with reverse) that belongs to a live document and may
// match, or nil if there is none.
func (e *extremeValueFinder) first(s plan.KeySpan, reverse bool) (key []byte, err error) {
	terms := e.src.Terms(s.Lo, s.Hi, reverse)
	for err == nil && key == nil && terms.Next() {
		if err = e.x.passEntry(); err != nil || hasRID(e.src.dead, terms.RID()) {
			continue
		}
		if in, _ := e.sieve.take(terms.Key()); in {
			key = bytes.Clone(terms.Key())
		}
	}
	if cerr := terms.Close(); err == nil {
		err = cerr
	}
	return key, err
}

// take adds the value of an index key, if one of the documents with this key matches. If the key does not
// hold the whole value, take reads the value from those documents, in their order. The first document is
// enough, unless the key is a string that was cut: its documents then have different values. found is false
// if none of the documents matches.
func (e *extremeValueFinder) take(key []byte) (found bool, err error) {
	in, sure := e.sieve.take(key)
	v, exact := plan.ExactTerm(key)
	if in && sure && exact {
		e.to.Add(v)
		return true, nil
	}
	rids := e.src.Postings(key)
	for err == nil && rids.Next() {
		if err = e.x.passEntry(); err != nil || hasRID(e.src.dead, rids.RID()) {
			continue
		}
		if in, err = e.x.readAndMatch(e.src, rids.RID()); !in {
			continue
		}
		e.to.Add(e.arg.Value(e.x.f))
		if found = true; v.Kind() != jsondoc.String {
			break
		}
	}
	if cerr := rids.Close(); err == nil {
		err = cerr
	}
	return found, err
}

// groupTerms makes one group of each value in the index of a path, without reading documents. For index terms
// that do not hold the whole value, such as long strings, it reads the documents.
func (x *Execution) groupTerms(g *eval.Grouper, sources []indexOnlySource) error {
	o := x.Plan.IndexOnly
	spans := x.groupBounds()
	for i, src := range sources {
		for _, s := range spans {
			s.Lo = plan.Later(s.Lo, x.groupsFrom(g))
			t := &indexTermGrouper{x: x, g: g, src: src, sieve: x.indexOnlyFilter(), hi: s.Hi,
				first: i == 0}
			for _, a := range g.Rowset.Aggs {
				t.counts = t.counts || a.Name == "COUNT"
			}
			if err := t.walk(s.Lo); err != nil {
				return err
			}
		}
		if o.Constraint == nil && g.InPage(jsondoc.AppendOrdered(nil, lang.Undefined)) {
			if err := x.groupLacking(g, src); err != nil {
				return err
			}
		}
	}
	return x.Run.Err
}

// groupBounds returns the spans of index keys whose terms become groups.
func (x *Execution) groupBounds() []plan.KeySpan {
	if l := x.Plan.IndexOnly.Constraint; l != nil {
		return l.Spans
	}
	lo, hi := x.Plan.Info.Index.PathRange(x.Plan.IndexOnly.Path)
	return []plan.KeySpan{{Lo: lo, Hi: hi}}
}

// groupsFrom returns the index key at which to begin reading the groups of a page, or nil for the beginning
// of the index. It returns nil also if index keys do not have the order of groups: for arrays, objects and
// long values.
func (x *Execution) groupsFrom(g *eval.Grouper) []byte {
	array, _ := jsondoc.KindBounds(jsondoc.Array)
	if len(g.From) == 0 || len(g.From) > 100 || g.From[0] >= array {
		return nil
	}
	lo, _ := x.Plan.Info.Index.PathRange(x.Plan.IndexOnly.Path)
	return append(lo, g.From...)
}

// groupLacking adds those documents to the groups of a GROUP BY that do not have the path of the key: their
// key is undefined. It leaves out dead documents (expired or deleted, but not purged), whose rids dead lists.
func (x *Execution) groupLacking(g *eval.Grouper, src indexOnlySource) error {
	docs, err := x.lacking(src.all)
	if err != nil {
		return err
	}
	for err == nil && docs.Next() {
		if d := docs.Document(); !hasRID(src.dead, d.RID()) && x.passes(x.Plan.Rows) && !g.Add() {
			err = x.Run.Err
		}
	}
	if cerr := docs.Close(); err == nil {
		err = cerr
	}
	return err
}

// skipFrom is the number of entries of one key after which the walk seeks the next key instead of reading
// on.
const skipFrom = 8

// countFrom is the number of entries with the same key that a GROUP BY over an index reads one by one. After
// them it lets the source count the remaining entries of the key.
const countFrom = 64

// indexTermGrouper makes groups from the index terms of a path, for one source: each term is the key of a
// group.
type indexTermGrouper struct {
	x      *Execution
	g      *eval.Grouper
	src    indexOnlySource
	sieve  *termFilter
	counts bool // all documents of a group have to be counted; if not set, one document is enough
	first  bool // this is the first source
	hi     []byte

	terms  source.IndexEntryIterator
	key    []byte
	one    *eval.GroupState // the group of key
	read   int              // entries of key that were read and counted
	rest   int              // entries of key that were skipped
	many   bool             // the last key that was counted had more than skipFrom entries
	passed bool             // the group of key is not on this page
	over   bool             // neither key nor any later key has a group on this page
}

// walk reads the index entries with keys from lo up to the end of the span.
func (t *indexTermGrouper) walk(lo []byte) (err error) {
	t.terms = t.src.Terms(lo, t.hi, false)
	for more := t.terms.Next(); more && err == nil && !t.over; {
		if err = t.x.passEntry(); err != nil {
			break
		}
		if !hasRID(t.src.dead, t.terms.RID()) {
			err = t.entry(t.terms.Key(), t.terms.RID())
		}
		if t.rest <= skipFrom || err != nil {
			more = t.terms.Next()
			continue
		}
		t.rest = 0
		more, err = t.leap()
	}
	if cerr := t.terms.Close(); err == nil {
		err = cerr
	}
	return err
}

// leap moves past all entries of the current index key, to the first entry of a greater key. more is false if
// there is none.
func (t *indexTermGrouper) leap() (more bool, err error) {
	next := append(t.key, 0xFF)
	if s, ok := t.terms.(source.SeekableIndexEntryIterator); ok {
		return s.Seek(next), nil
	}
	err = t.terms.Close()
	t.terms = t.src.Terms(bytes.Clone(next), t.hi, false)
	return t.terms.Next(), err
}

// entry adds the index entry of a term (key) and a document (rid) to the term's group. If the term does not
// decide whether the document matches, it reads the document.
func (t *indexTermGrouper) entry(key []byte, rid uint64) error {
	if !bytes.Equal(key, t.key) || t.key == nil {
		t.key, t.one, t.read, t.rest, t.passed = append(t.key[:0], key...), nil, 0, 0, false
		in, sure := t.sieve.take(key)
		v, exact := plan.ExactTerm(key)
		if t.over = in && exact && t.g.EndsPage(v, t.x.tune.Groups, t.first); t.over {
			return nil
		}
		if t.passed = !in; in && sure && exact {
			t.one = t.g.GroupAt(v)
			if t.passed = t.one == nil; t.one != nil {
				t.read = 1
				t.g.AddValue(t.one, v)
				if t.counts {
					return t.countRest()
				}
				return t.x.Run.Err
			}
		}
	}
	switch {
	case t.passed:
		t.rest++
	case t.one != nil && t.counts:
		t.read++
		t.one = t.g.CountValues(t.one, 1)
		return t.countRest()
	case t.one != nil:
		t.rest++
	default:
		in, err := t.x.readAndMatch(t.src, rid)
		if in {
			t.g.Add()
		}
		return err
	}
	return t.x.Run.Err
}

// countRest counts the remaining index entries of the current key without reading them. It uses the number
// that the source has cached, after skipFrom entries or, if the previous key had many, after the first. Without
// a cached number it does nothing, except after countFrom entries of the key: then it has the source count
// them.
func (t *indexTermGrouper) countRest() (err error) {
	c, ok := t.src.Source.(source.IndexEntryCounter)
	if p, far := t.src.Source.(source.Prefetcher); far && p.Prefetches() > 0 {
		ok = false // each count would need a round trip to the server of the data
	}
	if !ok || len(t.src.dead) > 0 || t.read != skipFrom && t.read != countFrom && !(t.many && t.read == 1) {
		return t.x.Run.Err
	}
	behind := append(t.key, 0xFF)
	n, known := c.KnownEntries(t.key, behind)
	if !known && t.read == countFrom {
		n, err = c.CountEntries(t.key, behind, t.x.passCounted)
		known = true
	}
	if !known || err != nil {
		return err
	}
	t.many = n > skipFrom
	n -= int64(t.read)
	t.x.passEntries(n)
	t.one = t.g.CountValues(t.one, n)
	t.rest = skipFrom + 1 // leaps to the next key
	return t.x.Run.Err
}
