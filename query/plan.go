package query

import (
	"context"
	"hash/fnv"
	"maps"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// planned is a query that was prepared for one container. It is immutable: it may be kept and run by many
// goroutines at once.
type planned struct {
	layout
	hash     uint64 // of the text, but for the WHERE where ORDER BY pages by key, and the parameters
	top      *block
	rows     *rowset
	nodes    []node
	form     form
	distinct bool // as it was written: equal rows of several ranges are to be merged
	never    bool // no row can fulfil the conditions
	byTurn   bool // groups come as they turn up, where one page has them all
	order    *ordering
	rank     []ranker
	counts   *textCounts // what the index of words says for the aggregates; nil: there are others
	only     *indexOnly  // what makes the rows without documents; nil: nothing
	loose    bool        // a condition is not about one path
	// ways lead by indexes to documents that may fulfil the conditions, each to all of those; none: all
	// documents are looked at
	ways   []access
	leaves []*leaf // what the conditions say of single paths
	pins   pins
	asked  uint64 // stands for the text and the parameters, with the conditions
	info   Info
	use    IndexUse
	shape  *shape
}

// preparePlan parses, binds and plans a query. The error is an *Error.
func preparePlan(text string, params []Parameter, info Info) (*planned, error) {
	b, err := bind(text, params, &info, foldFor)
	if err != nil {
		return nil, err
	}
	for _, key := range b.top.order {
		if key.refused != nil {
			return nil, key.refused
		}
	}
	return planOf(b)
}

// planOf makes the plan. The blocks are the plan's then.
func planOf(b *boundQuery) (*planned, error) {
	s, err := shapeOf(b)
	if err != nil {
		return nil, err
	}
	return s.first(b.asked)
}

// planner is a query on its way through the rules.
type planner struct {
	*binder
	plan    *planned
	folding lang.Meter // what constants have cost so far
	open    bool       // operands that are parameters stay: see shape
	tests   map[syntax.Expr]*termTest
	paths   map[syntax.Expr]pathFacts
	again   bool // what is in these is all
}

// rule is one step of planning. Each has a file and a test of its own.
type rule struct {
	name  string
	apply func(*planner)
}

// shapeRules are the first steps, in their order: later ones rely on what earlier ones have done. They look
// at no value of a parameter that is open.
func shapeRules() []rule {
	return []rule{
		{"fold", foldExprs},
		{"prune", prune},
		{"push-filter", pushFilters},
		{"distinct", simplifyDistinct},
		{"shape", chooseForm},
		{"top-n", limitOnce},
	}
}

// valueRules are the steps that come then. They leave the blocks as they are.
func valueRules() []rule {
	return []rule{
		{"pin", pinKeys},
		{"never", findNever},
		{"index-choice", chooseIndex},
		{"index-only", findIndexOnly},
		{"text-counts", findTextCounts},
		{"cover", covers},
	}
}

// compiler returns a compiler of expressions that do not use computed properties.
func (p *planner) compiler() *compiler {
	return &compiler{binder: p.binder, blocks: map[*block]*rowset{}}
}

// compilerFor returns a compiler that knows the computed properties.
func (p *planner) compilerFor(list []Computed) (*compiler, error) {
	c := p.compiler()
	c.computed = make(map[string]valuer, len(list))
	for _, one := range list {
		v, err := compileComputed(one, p.info)
		if err != nil {
			return nil, err
		}
		c.computed[one.Name] = v
	}
	return c, nil
}

func hashQuery(text string, params []Parameter) uint64 {
	h := fnv.New64a()
	put := func(b []byte) { // a hash does not fail
		_, _ = h.Write(b)
		_, _ = h.Write([]byte{0})
	}
	put([]byte(text))
	for _, p := range params {
		put([]byte(p.Name))
		put(p.Value.Raw())
	}
	return h.Sum64()
}

// Streamable tells whether the query consists of SELECT, VALUE, FROM, JOIN and WHERE alone, so that its rows
// over several partition ranges are those of one range after the other. Any other query over several ranges
// needs merging.
func (p *planned) Streamable() bool {
	t := p.top
	return p.form == streaming && t.top < 0 && t.limit < 0 && t.container && !p.distinct
}

// ListsAggregates tells whether a select list has aggregates, over all rows rather than groups. A gateway
// hands no such query out to a client that does not say that it merges them, not even where the conditions
// name one partition: so the tests of the SDK for Python have it.
func (p *planned) ListsAggregates() bool { return listsAggregates(p.top) }

// IndexUse tells which indexes a query uses and which ones would help it, as index metrics name them: /a/?
// for a range index, /a ASC for the paths of a composite one.
type IndexUse struct {
	Single, PotentialSingle       []string
	Composite, PotentialComposite [][]string
}

// IndexUse returns what the query makes of the indexes.
func (p *planned) IndexUse() IndexUse { return p.use }

// Ordered tells whether the rows come by an ORDER BY, and whether its first key is DESC: then equal rows come
// latest first.
func (p *planned) Ordered() (descending, ok bool) {
	if len(p.top.order) == 0 || p.order != nil && p.order.implied {
		return false, false
	}
	return p.top.order[0].desc, true
}

// compileComputed compiles the query of a computed property to what reads it off a document.
func compileComputed(one Computed, info *Info) (valuer, error) {
	q, err := syntax.Parse(one.Query)
	if err != nil {
		return nil, fault.SyntaxError(err)
	}
	bare := Info{Geometry: info.Geometry, Vectors: maps.Clone(info.Vectors)}
	b, err := bindTree(q, one.Query, nil, &bare, foldFor)
	if err != nil {
		return nil, err
	}
	bl := b.top
	if bl.value == nil || len(bl.steps) != 1 || bl.steps[0].kind != stepItem || b.slots > 0 || bl.grouped ||
		len(bl.where) > 0 {
		return nil, fault.Plain("The query of the computed property '" + one.Name +
			"' is not of the form SELECT VALUE <expression> FROM c.")
	}
	p := &planner{binder: b.binder, plan: &planned{}}
	foldExprs(p)
	return p.compiler().value(bl.value), nil
}

// NewComputed compiles computed properties to a function that evaluates them on the text of a document, for
// what indexes them. It is safe for concurrent use. The error is an *Error.
func NewComputed(list []Computed) (func(name string, body []byte) doc.Value, error) {
	compiled := make(map[string]valuer, len(list))
	for _, one := range list {
		v, err := compileComputed(one, &Info{})
		if err != nil {
			return nil, err
		}
		compiled[one.Name] = v
	}
	return func(name string, body []byte) doc.Value {
		v := compiled[name]
		if v == nil {
			return doc.Value{}
		}
		f := newFrame(newRun(context.Background(), layout{}, Env{}), layout{})
		f.body = body
		return v(f)
	}, nil
}

// hashIn stands for the query in a scope.
func (p *planned) hashIn(scope string) uint64 { return p.hash ^ keySum([]byte(scope)) }
