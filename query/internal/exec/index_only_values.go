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
func (x *Execution) sumValues(sum *lang.SumAverageAggregate, arg plan.IndexOnlyAggregateArg,
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
func (x *Execution) indexOnlyFilter() *indexTermFilter {
	if l := x.Plan.IndexOnly.Constraint; l != nil {
		return x.newTermFilter(testOf(l))
	}
	return nil
}

// extremesOf adds the least and the greatest value of a source to MIN or MAX. MIN needs the greatest value
// too: if that is an array or an object, which sort after all other values, the result is undefined.
func (x *Execution) extremesOf(e *lang.MinMaxAggregate, arg plan.IndexOnlyAggregateArg,
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
	arg   plan.IndexOnlyAggregateArg
	to    *lang.MinMaxAggregate
	sieve *indexTermFilter
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
