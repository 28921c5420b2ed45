package exec

import (
	"bytes"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// A walk of a range index need not read a document to know what it has at the path. If a query asks for
// nothing else, the term is made the least document that has that value, and the query goes on with it as
// with any other. If a row is one that OFFSET skips, not even that is done. And of the entries that share a
// key a DISTINCT of that path needs one: the walk seeks the next key. In all cases the term has to stand for
// one value, and the source has to know its dead.

// coverDead is how many dead documents a walk asks for: a page may be over before it has met one.
const coverDead = 256

// cover prepares a walk to do without documents.
func (wk *walker) cover() {
	x, o := wk.x, wk.x.Plan.Order
	if o.Walk != wk.w {
		return
	}
	wk.loose = o.Loose
	if !o.Covered && (!o.Skips || x.done.Offset == 0) {
		return
	}
	c, ok := wk.src.(source.Census)
	if !ok {
		return
	}
	var err error
	if wk.dead, wk.census, err = c.Dead(coverDead); err != nil {
		wk.census = false // the walk meets it again
	}
	if wk.census && o.Covered {
		wk.least = &termFilter{test: plan.LeastAt(wk.w.Path)}
	}
	wk.skips = wk.census && o.Skips
}

// Covered is called at an entry whose key is exact. done reports that no document has to be read; ok, that
// the entry is one to give out.
func (wk *walker) covered() (done, ok bool) {
	skips := wk.skips && wk.x.done.Offset > 0
	if !wk.census || wk.least == nil && !skips {
		return false, false
	}
	v, exact := plan.ExactTerm(wk.found)
	if !exact {
		return false, false
	}
	if hasRID(wk.dead, wk.rid) || !wk.only.has(wk.rid) {
		return true, false
	}
	if wk.least == nil {
		key := eval.AppendKey(wk.x.Plan.Top.Order[0], wk.entry.key[:0], eval.OrderedBy(v))
		wk.entry = entry{key: key, source: wk.source, rid: wk.rid, blank: true}
		wk.doc = nil
		return true, wk.x.behind(&wk.entry)
	}
	d := &leastDocument{rid: wk.rid, body: wk.least.document(v)}
	wk.x.f.Enter(d)
	wk.entry = entry{key: wk.x.orderKey(wk.entry.key[:0]), source: wk.source, rid: wk.rid}
	wk.doc = d
	return true, wk.x.behind(&wk.entry)
}

// leastDocument is the least document that has a value at a path.
type leastDocument struct {
	rid  uint64
	body []byte
}

func (d *leastDocument) RID() uint64            { return d.rid }
func (d *leastDocument) Body() []byte           { return d.body }
func (d *leastDocument) System() jsondoc.System { return jsondoc.System{} }

// noteGiven keeps in mind that a row has been given out of the entry that the walk is at.
func (wk *walker) noteGiven() {
	x, fresh := wk.x, wk.fresh
	wk.fresh = false
	if !fresh || !wk.loose || wk.doc == nil || x.done.Source < 0 || x.done.Rows == notGiven ||
		!bytes.Equal(x.done.Key, wk.entry.key) {
		return
	}
	wk.given, wk.rest = append([]byte{}, wk.found...), 0
	if wk.sub != nil {
		if _, lacking := wk.sub.(*asFound); !lacking {
			wk.given = nil // the keys of a run are not exact
			return
		}
		wk.given = []byte{}
	}
}

// leave goes on behind the key that the walk is at.
func (wk *walker) leave() error {
	p := &wk.parts[0]
	if wk.w.Reverse {
		p.Hi = bytes.Clone(wk.found)
	} else {
		p.Lo = append(bytes.Clone(wk.found), 0xFF)
	}
	err := wk.terms.Close()
	wk.terms, wk.ahead, wk.group = nil, false, wk.group[:0]
	if bytes.Compare(p.Lo, p.Hi) >= 0 {
		wk.parts = wk.parts[1:]
	}
	return err
}

// unread is called at a row that has not been read. It is skipped, or read after all.
func (x *Execution) unread() (d source.Document, skipped bool, err error) {
	if x.done.Offset > 0 {
		x.done.Offset--
		x.consumed()
		return nil, true, nil
	}
	d, live, err := x.sources[x.current.source].Fetch(x.current.rid)
	if live && err == nil {
		x.page.Stats.Loaded++
		x.page.Stats.LoadedBytes += int64(len(d.Body()))
	}
	return d, !live, err
}
