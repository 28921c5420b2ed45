package exec

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/record"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// walker iterates over the documents of a source in the order of an index. The keys of an index are cut where
// values are long, and those of arrays and objects say no more than that: documents that share such a key are
// a run that is sorted by the documents themselves. Documents without the path have no key in a range index;
// they are found by their shapes.
type walker struct {
	x      *Execution
	src    source.Source
	source int
	w      *plan.Walk
	parts  []part       // that are left, in the order of the query
	terms  source.Terms // of the first part, while it is walked
	found  []byte       // key of the entry that the walk is at
	rid    uint64       // of that entry
	group  []uint64     // the other rids of its key that are to be taken, the last one first
	ahead  bool         // terms are one entry further
	key    []byte       // the last key that was found to be exact
	vain   int          // entries without a document that is wanted
	only   *members     // documents that may be wanted; nil: any
	// Patience is how many entries may be passed, besides some for each document that was wanted, before the
	// walk pauses; 0: any number
	patience int
	passed   int
	wanted   int64 // documents of the page that were wanted when the walk began
	sub      inOrder
	entry    entry
	doc      source.Document

	// the dead of the source, where the index alone may tell what is there: see covered
	dead   []uint64
	census bool
	least  *termFilter // makes documents of terms, if the query wants nothing else of them
	skips  bool        // rows that OFFSET skips need no document
	loose  bool        // of the entries of one key a row of one is enough
	given  []byte      // key of which there is one
	rest   int         // entries of it that were passed
	fresh  bool        // the walk is at the entry that it has given out last
}

// part is a piece of a walk: a span of keys or, where it has none, the documents without the path.
type part struct {
	plan.Span
	undefined bool
}

func (x *Execution) newWalk(src source.Source, source int, w *plan.Walk) *walker {
	wk := &walker{x: x, src: src, source: source, w: w, wanted: x.page.Stats.Matched}
	for _, s := range w.Spans {
		wk.parts = append(wk.parts, part{Span: s})
	}
	if w.Undefined {
		wk.parts = append([]part{{undefined: true}}, wk.parts...)
	}
	wk.cover()
	if w.Reverse {
		slices.Reverse(wk.parts)
	}
	wk.resume()
	return wk
}

// resume leaves out what is before the place where the page begins.
func (wk *walker) resume() {
	x := wk.x
	if !x.from.Begun || x.from.Cut {
		return
	}
	values, ok := x.orderValues(x.from.Key)
	if !ok {
		return
	}
	var key []byte
	if c := wk.w.Composite; c != nil {
		key, _ = c.Prefix(append(append([]jsondoc.Value{}, wk.w.Fixed...), values...)...)
	} else if values[0].Kind() == jsondoc.Undefined {
		wk.resumeUndefined()
		return
	} else {
		key, _ = x.Plan.Info.Index.Term(wk.w.Path, values[0])
	}
	var left []part
	for _, p := range wk.parts {
		switch {
		case p.undefined && !wk.w.Reverse:
			continue
		case !p.undefined && !wk.w.Reverse:
			p.Lo = plan.Later(p.Lo, wk.from(key))
		case !p.undefined:
			if end := wk.until(key); bytes.Compare(end, p.Hi) < 0 {
				p.Hi = end
			}
		}
		if p.undefined || bytes.Compare(p.Lo, p.Hi) < 0 {
			left = append(left, p)
		}
	}
	wk.parts = left
}

// resumeUndefined drops the parts before the one without the path.
func (wk *walker) resumeUndefined() {
	for i, p := range wk.parts {
		if p.undefined {
			wk.parts = wk.parts[i:]
			return
		}
	}
}

// From is where a walk forwards goes on that has come to a key. Where the key stands for one value, the
// documents that were given out are left out: they are those up to a rid.
func (wk *walker) from(key []byte) []byte {
	f := &wk.x.from
	switch {
	case !wk.exact(key):
		lo, _ := wk.runOf(key)
		return lo
	case wk.flips():
		return key
	case f.Rows > 0:
		return binary.BigEndian.AppendUint64(bytes.Clone(key), f.Rid)
	}
	return binary.BigEndian.AppendUint64(bytes.Clone(key), f.Rid+1)
}

// until is the same for a walk backwards.
func (wk *walker) until(key []byte) []byte {
	f := &wk.x.from
	switch {
	case !wk.exact(key):
		_, hi := wk.runOf(key)
		return hi
	case wk.flips():
		return append(bytes.Clone(key), 0xFF)
	case f.Rows > 0:
		return binary.BigEndian.AppendUint64(bytes.Clone(key), f.Rid+1)
	}
	return binary.BigEndian.AppendUint64(bytes.Clone(key), f.Rid)
}

// exact reports whether a key stands for one value of each path.
func (wk *walker) exact(key []byte) bool {
	if c := wk.w.Composite; c != nil {
		_, n := c.Values(key)
		return n == len(c.Keys)
	}
	_, exact := index.TermValue(key)
	return exact
}

func (wk *walker) at() (*entry, source.Document) { return &wk.entry, wk.doc }

func (wk *walker) close() error {
	var err error
	if wk.terms != nil {
		err = wk.terms.Close()
		wk.terms = nil
	}
	if wk.sub != nil {
		if e := wk.sub.close(); err == nil {
			err = e
		}
	}
	return err
}

func (wk *walker) Next() (bool, error) {
	wk.noteGiven()
	for {
		if wk.sub != nil {
			ok, err := wk.sub.Next()
			if ok || err != nil {
				e, d := wk.sub.at()
				key := append(wk.entry.key[:0], e.key...)
				wk.entry, wk.doc = *e, d
				wk.entry.key = key
				return ok, err
			}
			err, wk.sub = wk.sub.close(), nil
			if err != nil {
				return false, err
			}
		}
		if wk.terms == nil {
			if len(wk.parts) == 0 {
				return false, nil
			}
			if p := wk.parts[0]; p.undefined {
				wk.parts = wk.parts[1:]
				wk.sub = wk.without()
				continue
			}
			wk.terms = wk.src.Terms(wk.parts[0].Lo, wk.parts[0].Hi, wk.w.Reverse)
		}
		ok, err := wk.step()
		if ok || err != nil || wk.tired() {
			return ok, err
		}
	}
}

// tired reports whether the walk has passed so much that there may be a better way.
func (wk *walker) tired() bool {
	wanted := int(wk.x.page.Stats.Matched - wk.wanted)
	return wk.patience > 0 && wk.passed > wk.patience+wk.x.tune.Share*wanted
}

// Step goes to the next entry of the part and the document behind it. It is false where there is none, or
// where a run begins.
func (wk *walker) step() (bool, error) {
	for wk.advance() {
		if err := wk.x.pass(lang.EntryWork); err != nil {
			return false, err
		}
		if !bytes.Equal(wk.found, wk.key) {
			if !wk.exact(wk.found) {
				return false, wk.run(bytes.Clone(wk.found))
			}
			wk.key = append(wk.key[:0], wk.found...)
		}
		if wk.given != nil && bytes.Equal(wk.given, wk.found) {
			if wk.rest++; wk.rest > skipFrom {
				return false, wk.leave()
			}
			continue
		}
		if done, ok := wk.covered(); done {
			if ok {
				return true, nil
			}
			continue
		}
		if wk.only.has(wk.rid) {
			d, live, err := wk.src.Fetch(wk.rid)
			if err != nil {
				return false, err
			}
			if live && wk.reach(d) {
				return true, nil
			}
		}
		if wk.rests(wk.rid, wk.values) {
			return true, nil
		}
		if wk.passed++; wk.tired() {
			return false, nil
		}
	}
	err := wk.terms.Close()
	wk.terms, wk.parts = nil, wk.parts[1:]
	return false, err
}

// advance goes to the next entry. Where the index has equal rows in the order opposite to the query's, as
// when it is walked forwards for a first key with DESC, the entries of a key are read together and taken from
// the last one on.
func (wk *walker) advance() bool {
	if n := len(wk.group); n > 0 {
		wk.rid, wk.group = wk.group[n-1], wk.group[:n-1]
		return true
	}
	if !wk.ahead && !wk.read() {
		return false
	}
	wk.ahead = false
	wk.found = append(wk.found[:0], wk.terms.Key()...)
	wk.rid = wk.terms.RID()
	if !wk.flips() || !wk.exact(wk.found) {
		return true
	}
	for wk.group = append(wk.group, wk.rid); wk.read(); wk.group = append(wk.group, wk.terms.RID()) {
		if wk.ahead = !bytes.Equal(wk.terms.Key(), wk.found); wk.ahead {
			break
		}
	}
	return wk.advance()
}

func (wk *walker) read() bool {
	return wk.x.passEntry() == nil && wk.terms.Next()
}

// flips reports whether the index has equal rows in the opposite order.
func (wk *walker) flips() bool { return wk.w.Reverse != wk.x.backwards() }

// reach makes a document the current one and reports whether it comes after where the page begins.
func (wk *walker) reach(d source.Document) bool {
	x := wk.x
	x.load(d)
	wk.entry = entry{key: x.orderKey(wk.entry.key[:0]), source: wk.source, rid: d.RID()}
	wk.doc = d
	return x.behind(&wk.entry)
}

// restEvery is how many entries in a row a walk passes over before it reports how far it has come.
const restEvery = 64

// rests makes an entry that has no document the current one, now and then, if a page can go on behind it. The
// values are what the query orders it by.
func (wk *walker) rests(rid uint64, values func() []jsondoc.Value) bool {
	x := wk.x
	if wk.vain++; wk.vain%restEvery != 0 || x.Plan.Form != cursor.Sorting {
		return false
	}
	e := entry{source: wk.source, rid: rid, passed: true}
	for i, v := range values() {
		e.key = eval.AppendKey(x.Plan.Top.Order[i], e.key, eval.OrderedBy(v))
	}
	if len(e.key) > record.MaxCursorKey || x.from.Cut {
		return false // a cut key is found again in its document alone
	}
	if x.from.Begun && x.compare(&e, &entry{key: x.from.Key, rid: x.from.Rid}) <= 0 {
		return false
	}
	wk.entry, wk.doc = e, nil
	return true
}

// Values are those of the entry that the walk is at, for the keys of the order. The entry's key is exact.
func (wk *walker) values() []jsondoc.Value {
	if c := wk.w.Composite; c != nil {
		values, _ := c.Values(wk.found)
		return values[len(wk.w.Fixed):]
	}
	v, _ := index.TermValue(wk.found)
	return []jsondoc.Value{v}
}

// runOf returns the keys of the run that a key without an exact value belongs to. In a range index they are
// that key. In a composite index the paths behind the one that was cut tell nothing any more, so they are all
// keys that agree with it in the paths before; if it has an array or an object in its place, those that have
// one, too.
func (wk *walker) runOf(key []byte) (lo, hi []byte) {
	c := wk.w.Composite
	if c == nil {
		return key, append(bytes.Clone(key), 0xFF)
	}
	values, n := c.Values(key)
	if n < len(values) && values[n].Kind() >= jsondoc.Array {
		lo, hi, _ = c.Range(values[:n], index.Less, values[n])
	} else {
		lo, hi, _ = c.Interval(values[:n]...)
	}
	return lo, hi
}

// Run takes a run off the part, from a key on, and has its documents sorted. What was passed before it
// belongs before it.
func (wk *walker) run(key []byte) error {
	p := &wk.parts[0]
	lo, hi := wk.runOf(key)
	if wk.w.Reverse {
		lo, hi = plan.Later(p.Lo, lo), append(bytes.Clone(key), 0xFF)
	} else {
		lo = key
		if bytes.Compare(p.Hi, hi) < 0 {
			hi = p.Hi
		}
	}
	err := wk.terms.Close()
	wk.terms, wk.ahead = nil, false
	if wk.w.Reverse {
		p.Hi = lo
	} else {
		p.Lo = hi
	}
	if bytes.Compare(p.Lo, p.Hi) >= 0 {
		wk.parts = wk.parts[1:]
	}
	wk.sub = wk.x.newBatch(wk.src, wk.source, func() (source.Documents, error) {
		return &termDocuments{x: wk.x, src: wk.src, terms: wk.src.Terms(lo, hi, false)}, nil
	})
	return err
}
