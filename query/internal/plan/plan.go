package plan

import (
	"context"
	"hash/fnv"
	"maps"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Plan is a query that was prepared for one container. It is immutable: it may be kept and run by many
// goroutines at once.
type Plan struct {
	eval.Layout
	Hash      uint64 // of the text, but for the WHERE where ORDER BY pages by key, and the parameters
	Top       *bind.Block
	Rows      *eval.Rowset
	Nodes     []node
	Form      cursor.Form
	distinct  bool // as it was written: equal rows of several ranges are to be merged
	Never     bool // no row can fulfil the conditions
	ByTurn    bool // groups come as they turn up, where one page has them all
	Order     *ordering
	Rank      []Ranker
	Counts    *textCounts // what the index of words says for the aggregates; nil: there are others
	IndexOnly *indexOnly  // what makes the rows without documents; nil: nothing
	loose     bool        // a condition is not about one path
	// Ways lead by indexes to documents that may fulfil the conditions, each to all of those; none: all
	// documents are looked at
	AccessPaths []Access
	Constraints []*Constraint // what the conditions say of single paths
	Pins        Pins
	Asked       uint64 // stands for the text and the parameters, with the conditions
	Info        bind.Info
	Use         IndexUse
	Shape       *shape
}

// Prepare parses, binds and plans a query. The error is an *Error.
func Prepare(text string, params []bind.Parameter, info bind.Info) (*Plan, error) {
	b, err := bind.Text(text, params, &info, FoldConstants)
	if err != nil {
		return nil, err
	}
	for _, key := range b.Top.Order {
		if key.Refused != nil {
			return nil, key.Refused
		}
	}
	return Of(b)
}

// Of makes the plan. The blocks are the plan's then.
func Of(b *bind.Query) (*Plan, error) {
	s, err := shapeOf(b)
	if err != nil {
		return nil, err
	}
	return s.first(b.Asked)
}

// Planner is a query on its way through the rules.
type Planner struct {
	*bind.Binder
	Plan    *Plan
	folding lang.Meter // what constants have cost so far
	open    bool       // operands that are parameters stay: see shape
	tests   map[syntax.Expr]*TermTest
	paths   map[syntax.Expr]pathFacts
	again   bool // what is in these is all
}

// rule is one step of planning. Each has a file and a test of its own.
type rule struct {
	Name  string
	Apply func(*Planner)
}

// ShapeRules are the first steps, in their order: later ones rely on what earlier ones have done. They look
// at no value of a parameter that is open.
func ShapeRules() []rule {
	return []rule{
		{"fold", foldExprs},
		{"prune", prune},
		{"push-filter", pushFilters},
		{"distinct", simplifyDistinct},
		{"shape", chooseForm},
		{"top-n", limitOnce},
	}
}

// ValueRules are the steps that come then. They leave the blocks as they are.
func ValueRules() []rule {
	return []rule{
		{"pin", pinKeys},
		{"never", findContradictions},
		{"index-choice", chooseIndex},
		{"index-only", findIndexOnly},
		{"text-counts", findTextCounts},
		{"cover", covers},
	}
}

// Compiler returns a compiler of expressions that do not use computed properties.
func (p *Planner) compiler() *eval.Compiler {
	return &eval.Compiler{Binder: p.Binder, Blocks: map[*bind.Block]*eval.Rowset{}}
}

// compilerFor returns a compiler that knows the computed properties.
func (p *Planner) compilerFor(list []bind.Computed) (*eval.Compiler, error) {
	c := p.compiler()
	c.Computed = make(map[string]eval.Valuer, len(list))
	for _, one := range list {
		v, err := compileComputed(one, p.Info)
		if err != nil {
			return nil, err
		}
		c.Computed[one.Name] = v
	}
	return c, nil
}

func hashQuery(text string, params []bind.Parameter) uint64 {
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

// Streamable reports whether the query consists of SELECT, VALUE, FROM, JOIN and WHERE alone, so that its
// rows over several partition ranges are those of one range after the other. Any other query over several
// ranges needs merging.
func (p *Plan) Streamable() bool {
	t := p.Top
	return p.Form == cursor.Streaming && t.Top < 0 && t.Limit < 0 && t.Container && !p.distinct
}

// ListsAggregates reports whether a select list has aggregates, over all rows rather than groups. A gateway
// hands no such query out to a client that does not say that it merges them, not even where the conditions
// name one partition: so the tests of the SDK for Python have it.
func (p *Plan) ListsAggregates() bool { return bind.ListsAggregates(p.Top) }

// IndexUse reports which indexes a query uses and which ones would help it, as index metrics name them: /a/?
// for a range index, /a ASC for the paths of a composite one.
type IndexUse struct {
	Single, PotentialSingle       []string
	Composite, PotentialComposite [][]string
}

// IndexUse returns what the query makes of the indexes.
func (p *Plan) IndexUse() IndexUse { return p.Use }

// Ordered reports whether the rows come by an ORDER BY, and whether its first key is DESC: then equal rows
// come latest first.
func (p *Plan) Ordered() (descending, ok bool) {
	if len(p.Top.Order) == 0 || p.Order != nil && p.Order.implied {
		return false, false
	}
	return p.Top.Order[0].Desc, true
}

// compileComputed compiles the query of a computed property to what reads it off a document.
func compileComputed(one bind.Computed, info *bind.Info) (eval.Valuer, error) {
	q, err := syntax.Parse(one.Query)
	if err != nil {
		return nil, fault.SyntaxError(err)
	}
	bare := bind.Info{Geometry: info.Geometry, Vectors: maps.Clone(info.Vectors)}
	b, err := bind.Tree(q, one.Query, nil, &bare, FoldConstants)
	if err != nil {
		return nil, err
	}
	bl := b.Top
	if bl.Value == nil || len(bl.Steps) != 1 || bl.Steps[0].Kind != bind.StepItem || b.Slots > 0 ||
		bl.Grouped ||
		len(bl.Where) > 0 {
		return nil, fault.Plain("The query of the computed property '" + one.Name +
			"' is not of the form SELECT VALUE <expression> FROM c.")
	}
	p := &Planner{Binder: b.Binder, Plan: &Plan{}}
	foldExprs(p)
	return p.compiler().Value(bl.Value), nil
}

// NewComputed compiles computed properties to a function that evaluates them on the text of a document, for
// what indexes them. It is safe for concurrent use. The error is an *Error.
func NewComputed(list []bind.Computed) (func(name string, body []byte) jsondoc.Value, error) {
	compiled := make(map[string]eval.Valuer, len(list))
	for _, one := range list {
		v, err := compileComputed(one, &bind.Info{})
		if err != nil {
			return nil, err
		}
		compiled[one.Name] = v
	}
	return func(name string, body []byte) jsondoc.Value {
		v := compiled[name]
		if v == nil {
			return jsondoc.Value{}
		}
		f := eval.NewFrame(eval.NewRun(context.Background(), eval.Layout{}, eval.Env{}), eval.Layout{})
		f.Body = body
		return v(f)
	}, nil
}

// HashIn stands for the query in a scope.
func (p *Plan) HashIn(scope string) uint64 { return p.Hash ^ cursor.KeySum([]byte(scope)) }
