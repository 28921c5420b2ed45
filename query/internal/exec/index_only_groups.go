package exec

import (
	"bytes"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

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
	sieve  *indexTermFilter
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
// that the source has cached, after skipFrom entries or, if the previous key had many, after the first.
// Without a cached number it does nothing, except after countFrom entries of the key: then it has the source
// count them.
func (t *indexTermGrouper) countRest() (err error) {
	c, ok := t.src.DocumentSource.(source.IndexEntryCounter)
	if p, far := t.src.DocumentSource.(source.Prefetcher); far && p.Prefetches() > 0 {
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
