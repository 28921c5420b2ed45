package query

import (
	"slices"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Some queries can be answered by an index alone. An entry of a range index says of a document what value it
// has at a path, unless the term stands for several (see exactTerm); what is wanted of a query that asks for
// nothing else is all there. Of entries that are not exact the documents are read, one by one, so no answer
// depends on how long a text is. An entry may be that of a document that is dead: sources say which are (see
// Census), or the documents are read as ever.

// indexOnly says what can be made of index entries alone.
type indexOnly struct {
	kind onlyKind
	leaf *leaf      // what the conditions say, if they are about one path; nil: there are none
	path index.Path // of GROUP BY
	args []onlyArg  // of the aggregates
}

type onlyKind uint8

const (
	countAll    onlyKind = iota + 1 // all aggregates are COUNT of what every item has: all documents are counted
	countWanted                     // the same of those that fulfil conditions
	ofValues                        // aggregates of the values at paths
	ofGroups                        // GROUP BY one path, with aggregates of that path
)

// onlyArg is what an aggregate is about: a path, or what every document has.
type onlyArg struct {
	path   index.Path // nil: every document
	bounds []span     // the values at the path that count
	value  valuer     // compiled, with path
}

// findIndexOnly is the rule "index-only": it tells whether the documents are needed for the aggregates.
func findIndexOnly(p *planner) { p.plan.only = p.indexOnly() }

func (p *planner) indexOnly() *indexOnly {
	t := p.plan.top
	if !t.grouped || len(t.steps) != 1 || t.steps[0].kind != stepItem || len(t.groupBy) > 1 ||
		!p.decided(t) || t.carried != nil {
		return nil
	}
	o := &indexOnly{}
	counts := true
	for _, a := range t.aggs {
		arg, ok := p.onlyArg(a)
		if !ok {
			return nil
		}
		counts = counts && arg.path == nil
		o.args = append(o.args, arg)
	}
	leaves := p.plan.leaves
	if len(leaves) == 1 {
		o.leaf = leaves[0]
	}
	if len(t.groupBy) == 1 {
		return p.onlyGroups(o, t.groupBy[0])
	}
	switch {
	case len(t.aggs) == 0:
		return nil
	case counts && len(leaves) == 0:
		o.kind = countAll
	case counts:
		o.kind = countWanted
	case len(leaves) > 1, o.leaf != nil && !o.about(o.leaf.name):
		return nil
	default:
		o.kind = ofValues
	}
	p.noteArgs(o)
	return o
}

// onlyGroups completes what is said of GROUP BY one path.
func (p *planner) onlyGroups(o *indexOnly, key syntax.Expr) *indexOnly {
	route, plain := p.plainPath(key)
	if !plain || !p.info.Index.RangeIndexed(route) || !o.about(route.String()) || len(p.plan.leaves) > 1 ||
		o.leaf != nil && o.leaf.name != route.String() {
		return nil
	}
	o.kind, o.path = ofGroups, route
	p.noteArgs(o)
	p.noteUsed(route.String())
	return o
}

// decided tells whether the conditions are about single paths, so that terms decide them.
func (p *planner) decided(t *block) bool {
	if len(t.where) > 0 && len(p.plan.leaves) == 0 || p.plan.loose {
		return false
	}
	return !slices.ContainsFunc(p.plan.leaves, func(l *leaf) bool {
		return l.undefined || l.loose && l.test == nil
	})
}

// onlyArg is what an aggregate is about, if an index has it.
func (p *planner) onlyArg(a aggCall) (arg onlyArg, ok bool) {
	if a.name == "COUNT" && p.everywhere(a.arg) {
		return onlyArg{}, true
	}
	if a.name != "COUNT" && a.name != "MIN" && a.name != "MAX" {
		return onlyArg{}, false
	}
	route, plain := p.plainPath(a.arg)
	if !plain || !p.info.Index.RangeIndexed(route) {
		return onlyArg{}, false
	}
	return onlyArg{path: route}, true
}

// plainPath is the path that an expression is, if documents hold what is there as it is.
func (p *planner) plainPath(e syntax.Expr) (index.Path, bool) {
	if _, plain := p.plainRoute(e); !plain {
		return nil, false
	}
	route, entered, ok := p.itemRoute(e)
	return route, ok && !entered
}

// everywhere tells of an expression that it is defined for every item.
func (p *planner) everywhere(e syntax.Expr) bool {
	if l, ok := e.(*syntax.Literal); ok {
		return l.Value.Kind() != doc.Undefined
	}
	id, ok := e.(*syntax.Ident)
	return ok && p.idents[id] != nil && p.idents[id].item
}

// about tells whether no aggregate is about another path.
func (o *indexOnly) about(name string) bool {
	return !slices.ContainsFunc(o.args, func(a onlyArg) bool { return a.path != nil && a.path.String() != name })
}

func (p *planner) noteArgs(o *indexOnly) {
	for i := range o.args {
		if a := &o.args[i]; a.path != nil {
			p.noteUsed(a.path.String())
			lo, hi := p.info.Index.PathRange(a.path)
			if a.bounds = []span{{lo: lo, hi: hi}}; o.leaf != nil {
				a.bounds = o.leaf.spans
			}
		}
	}
}

func (o *indexOnly) String() string {
	switch o.kind {
	case countAll:
		return "count of the documents, without reading them"
	case countWanted:
		return "count of the index entries"
	case ofGroups:
		return "groups of the terms of " + o.path.String()
	}
	var paths []string
	for _, a := range o.args {
		if a.path != nil && !slices.Contains(paths, a.path.String()) {
			paths = append(paths, a.path.String())
		}
	}
	text := "terms of"
	for i, path := range paths {
		text += []string{" ", ", "}[min(i, 1)] + path
	}
	return text
}

// onlyDead is how many dead documents a source is asked for where all entries of a walk count.
const onlyDead = 10_000

// census is what the sources of a run know of their dead.
type census [][]uint64

// dead asks all sources for their dead. It is false where one cannot tell.
func (x *execution) census() (census, bool, error) {
	all := make(census, len(x.sources))
	for i, src := range x.sources {
		c, ok := src.(Census)
		if !ok {
			return nil, false, nil
		}
		dead, ok, err := c.Dead(onlyDead)
		if err != nil || !ok {
			return nil, false, err
		}
		all[i] = dead
	}
	return all, true, nil
}

// lost tells whether a rid is one of a list.
func lost(dead []uint64, rid uint64) bool {
	if len(dead) == 0 {
		return false
	}
	_, found := slices.BinarySearch(dead, rid)
	return found
}

// eachEntry calls fn for the entries of spans that are of live documents and pass the sieve. sure is false
// where the document has to tell.
func (x *execution) eachEntry(src Source, dead []uint64, spans []span, sieve *termSieve,
	fn func(key []byte, rid uint64, sure bool) error) (err error) {
	for _, s := range spans {
		terms := src.Terms(s.lo, s.hi, false)
		for err == nil && terms.Next() {
			if err = x.passEntry(); err != nil || lost(dead, terms.RID()) {
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

// wanted reads a document that terms did not decide about, and tells whether it fulfils the conditions. The
// frame is at it then.
func (x *execution) wanted(src Source, rid uint64) (bool, error) {
	d, live, err := src.Fetch(rid)
	if err != nil || !live {
		return false, err
	}
	return x.enter(d, x.plan.rows), nil
}

// onlyFrom feeds a grouper from indexes alone. It is false where that cannot be done, or where reading the
// documents is less.
func (x *execution) onlyFrom(g *grouper) (done bool, err error) {
	o := x.plan.only
	switch {
	case o == nil:
		return false, nil
	case o.kind == countAll:
		return x.takeCounts(g), nil
	}
	dead, ok, err := x.census()
	if err != nil || !ok {
		return false, err
	}
	switch o.kind {
	case countWanted:
		return x.countWanted(g, dead)
	case ofValues:
		return x.aggregateValues(g, dead)
	}
	return true, x.groupTerms(g, dead)
}

// takeCounts counts all documents.
func (x *execution) takeCounts(g *grouper) bool {
	total, ok := x.countAll()
	for i := range g.groups[0].state {
		g.groups[0].state[i] = &counter{n: total}
	}
	return ok
}

func (x *execution) countAll() (total int64, ok bool) {
	for _, src := range x.sources {
		c, ok := src.(Counter)
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

// countWanted counts the entries that all conditions leave.
func (x *execution) countWanted(g *grouper, dead census) (done bool, err error) {
	total := int64(0)
	for i, src := range x.sources {
		n, err := x.countIn(src, dead[i])
		if err != nil {
			return false, err
		}
		total += n
	}
	for i := range g.groups[0].state {
		g.groups[0].state[i] = &counter{n: total}
	}
	return true, nil
}

func (x *execution) countIn(src Source, dead []uint64) (n int64, err error) {
	if l := x.plan.only.leaf; l != nil {
		err = x.eachEntry(src, dead, l.spans, x.newSieve(l.sieved()), func(_ []byte, rid uint64, sure bool) error {
			if !sure {
				var err error
				if sure, err = x.wanted(src, rid); err != nil {
					return err
				}
			}
			if sure {
				n++
			}
			return nil
		})
		return n, err
	}
	return x.countCommon(src, dead)
}

// sieved is the test that the terms in the leaf's spans need; nil where they need none.
func (l *leaf) sieved() *termTest {
	if !l.loose {
		return nil
	}
	return l.test
}

// countCommon counts the documents that fulfil conditions about several paths. Where the shortest of the lists is
// short, its documents are read.
func (x *execution) countCommon(src Source, dead []uint64) (n int64, err error) {
	p, err := x.newProbes(src, nil)
	if err != nil {
		return 0, err
	}
	short, err := p.count(x.tune.probe)
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
	} else if all, unsure, err = x.commonOf(src, p); err != nil {
		return 0, err
	}
	for _, rid := range all {
		if lost(dead, rid) {
			continue
		}
		if !lost(unsure, rid) {
			n++
			continue
		}
		in, err := x.wanted(src, rid)
		if err != nil {
			return 0, err
		}
		if in {
			n++
		}
	}
	return n, nil
}

// commonOf has the rids that the leaves of the plan have in common, and those that some leaf is not sure of.
// Both are in order.
func (x *execution) commonOf(src Source, p *probes) (all, unsure []uint64, err error) {
	for i, l := range x.plan.leaves {
		var rids []uint64
		held := 0
		err := x.eachEntry(src, nil, l.spans, x.newSieve(l.sieved()), func(_ []byte, rid uint64, sure bool) error {
			if rids = append(rids, rid); !sure {
				unsure = append(unsure, rid)
			}
			if n := 8 * cap(rids); n > held {
				x.run.hold(&p.held, n-held, "an index")
				held = n
			}
			return x.run.err
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
