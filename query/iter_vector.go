package query

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/syntax"
)

// ORDER BY VectorDistance over indexed vectors.
//
// The index has the vectors, rounded to single precision, without the documents around them. So all distances
// are calculated from the index, and only documents that can come next are read: a document is given out once
// its exact distance is less than any that a document further down the list can have, given how much rounding
// can matter. Documents without a distance have no entry; they come last, as ORDER BY has them.

// vectors is a way to order documents by the vectors of an index.
type vectors struct {
	path   index.Path
	key    []byte // that all entries have
	query  []float64
	metric vectorMetric
}

// chooseVectors returns how an index serves ORDER BY VectorDistance(path, [constants]); nil where none does.
func (p *planner) chooseVectors(e syntax.Expr) *vectors {
	c, ok := e.(*syntax.Call)
	if !ok {
		return nil // a constant by now
	}
	for i := range 2 {
		l, constant := c.Args[1-i].(*syntax.Literal)
		route, entered, ok := p.itemRoute(c.Args[i])
		if !constant || !ok || entered {
			continue
		}
		key, indexed := p.info.Index.VectorPrefix(route)
		query, numbers := appendNumbers(nil, l.Value)
		name := p.distanceOf(c)
		if len(c.Args) == 4 {
			name = p.distanceOption(c.Args[3])
		}
		metric, known := metricOf(name)
		if name == "" {
			metric, known = metricCosine, true
		}
		if indexed && numbers && known {
			return &vectors{route, key, query, metric}
		}
	}
	return nil
}

// estimate is a document's distance by its rounded vector, such that small is good.
type estimate struct {
	distance float64
	rid      uint64
}

// compare puts estimates in order.
func (e estimate) compare(x *execution, o estimate) int {
	if !x.run.spend(entryWork) {
		return 0
	}
	return cmp.Compare(e.distance, o.distance)
}

// estimateSize is how many bytes an estimate takes.
const estimateSize = 16

// nearest iterates over documents by their distance.
type nearest struct {
	x      *execution
	src    Source
	source int
	v      *vectors
	list   []estimate // the best last
	margin float64    // how far an estimate can be off
	ready  []entry    // documents that were read and not given out, in order, the first last
	exact  map[uint64]float64
	rest   inOrder // those without a distance
	entry  entry
	doc    Document
}

// newNearest calculates all distances of a source. It is nil where the index's vectors are not as long as the
// query's, or too many.
func (x *execution) newNearest(src Source, source int, v *vectors) (*nearest, error) {
	n := &nearest{x: x, src: src, source: source, v: v, exact: map[uint64]float64{}}
	terms := src.Terms(v.key, append(bytes.Clone(v.key), 0xFF), false)
	usable := true
	var buf []float32
	var vector []float64
	for usable && x.pass(len(v.query)) == nil && terms.Next() {
		x.page.Stats.IndexEntries++
		buf = index.DecodeVector(buf[:0], terms.Value())
		vector = vector[:0]
		scale := 0.0
		for _, f := range buf {
			vector = append(vector, float64(f))
			scale += float64(f) * float64(f)
		}
		usable = len(vector) == len(v.query) && len(n.list) < x.run.limitHeld()/estimateSize
		if d := v.metric.compare(vector, v.query); usable && d.Kind() == doc.Number {
			x.run.use(estimateSize, "ORDER BY")
			n.list = append(n.list, estimate{n.sign() * d.Num(), terms.RID()})
			n.margin = max(n.margin, math.Sqrt(scale))
		}
	}
	err := terms.Close()
	if err == nil {
		err = x.run.err
	}
	if err != nil || !usable {
		return nil, err
	}
	n.margin *= rounding
	switch v.metric {
	case metricCosine:
		n.margin = 2 * rounding
	case metricDot:
		norm := 0.0
		for _, f := range v.query {
			norm += f * f
		}
		n.margin *= math.Sqrt(norm)
	}
	slices.SortFunc(n.list, func(a, b estimate) int { return b.compare(x, a) })
	return n, nil
}

// rounding bounds the relative error of single precision, with something to spare.
const rounding = 1e-6

// sign turns similarities, where great is good, round.
func (n *nearest) sign() float64 {
	if n.v.metric.descending() {
		return -1
	}
	return 1
}

func (n *nearest) next() (bool, error) {
	for {
		if last := len(n.ready) - 1; last >= 0 && n.settled(n.ready[last].rid) {
			e := n.ready[last]
			n.ready = n.ready[:last]
			d, live, err := n.src.Fetch(e.rid)
			if err != nil || live {
				n.entry, n.doc = e, d
				return live, err
			}
			continue
		}
		if len(n.list) == 0 {
			return n.without()
		}
		if err := n.read(); err != nil {
			return false, err
		}
	}
}

// settled tells whether no document that has not been read can come before this one.
func (n *nearest) settled(rid uint64) bool {
	return len(n.list) == 0 || n.list[len(n.list)-1].distance-n.margin > n.exact[rid]
}

// read reads the document with the best estimate.
func (n *nearest) read() error {
	best := n.list[len(n.list)-1]
	n.list = n.list[:len(n.list)-1]
	d, live, err := n.src.Fetch(best.rid)
	if err != nil || !live {
		return err
	}
	x := n.x
	if !x.enter(d, x.plan.rows) {
		_, err := x.stop()
		return err
	}
	e := entry{key: x.orderKey(nil), source: n.source, rid: best.rid, holds: true}
	v := x.plan.order.keys[0](x.f)
	if v.Kind() != doc.Number || !x.behind(&e) {
		return nil
	}
	n.exact[best.rid] = n.sign() * v.Num()
	at, _ := slices.BinarySearchFunc(n.ready, e, func(a, b entry) int { return x.compare(&b, &a) })
	n.ready = slices.Insert(n.ready, at, e)
	return nil
}

// without goes on with the documents that have no distance.
func (n *nearest) without() (bool, error) {
	if n.rest == nil {
		n.rest = n.x.newBatch(n.src, n.source, func() (Documents, error) {
			docs, err := n.x.candidates(n.src, 0, true)
			return &undefinedDocuments{docs, n.x, n.x.plan.order.keys[0]}, err
		})
	}
	ok, err := n.rest.next()
	if ok {
		e, d := n.rest.at()
		n.entry, n.doc = *e, d
	}
	return ok, err
}

func (n *nearest) at() (*entry, Document) { return &n.entry, n.doc }
func (n *nearest) close() error           { return nil }
