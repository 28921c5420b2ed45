package plan

import (
	"context"
	"hash/fnv"
	"maps"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Plan is a query prepared for one container. It is immutable and safe for concurrent use.
type Plan struct {
	eval.FrameSettings
	// Hash is the hash of the query's text and parameters, to which continuation tokens are bound. It
	// excludes the WHERE clause if the position in the token is an ORDER BY key.
	Hash      uint64
	Top       *bind.QueryBlock
	Rows      *eval.CompiledSelect
	Nodes     []node
	Form      cursor.PagingMode
	distinct  bool // the query as written has a DISTINCT: equal rows of several ranges have to be merged
	Never     bool // no row can match the conditions
	ByTurn    bool // groups are returned in the order in which they are found, if they fit in one page
	Order     *orderByStrategy
	Rank      []CompiledRankScore
	Counts    *textIndexAggregates // how an index of words computes the aggregates; nil: it cannot
	IndexOnly *indexOnlyPlan       // how an index alone makes the rows; nil: documents are needed
	loose     bool                 // there is a condition that is not about a single path
	// AccessPaths are the ways through indexes to the documents that may match the conditions. Each of them
	// finds all these documents. If there is none, all documents are scanned
	AccessPaths []IndexAccess
	Constraints []*Constraint // the constraints of single paths
	Pins        PinnedPartitionKeys
	Asked       uint64 // hash of the text and the parameters, with the conditions
	Info        bind.ContainerInfo
	Use         UsedAndPotentialIndexes
	Shape       *planTemplate
}

// Prepare parses, binds and plans a query. The error is an *Error.
func Prepare(text string, params []bind.Parameter, info bind.ContainerInfo) (*Plan, error) {
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

// Of returns the plan of a bound query, that is, one whose names have been resolved. The plan takes
// ownership of the query's blocks.
func Of(b *bind.ResolvedQuery) (*Plan, error) {
	s, err := shapeOf(b)
	if err != nil {
		return nil, err
	}
	return s.first(b.Asked)
}

// Planner holds a query and its unfinished plan while the planning rules are applied to them.
type Planner struct {
	*bind.Binder
	Plan    *Plan
	folding lang.ResourceLimiter // cost of constants so far
	open    bool                 // parameters that are operands stay parameters: see shape
	tests   map[syntax.Expr]*IndexTermTest
	paths   map[syntax.Expr]expressionAsItemPath
	again   bool // the tests and paths of the shape are complete and must not be added to
}

// planRule is one step of planning. Each rule has its own file and test.
type planRule struct {
	Name  string
	Apply func(*Planner)
}

// ShapeRules returns the planning rules that do not depend on the values of parameters, in the order in which
// they run: later rules rely on earlier ones. Their result, the planTemplate, is shared by plans for other
// values.
func ShapeRules() []planRule {
	return []planRule{
		{"fold", foldExprs},
		{"prune", prune},
		{"push-filter", pushFilters},
		{"distinct", simplifyDistinct},
		{"shape", chooseForm},
		{"top-n", limitOnce},
	}
}

// ValueRules returns the planning rules that look at the values of parameters. They run after ShapeRules, for
// each set of values, and do not change the query's blocks.
func ValueRules() []planRule {
	return []planRule{
		{"pin", pinKeys},
		{"never", findContradictions},
		{"index-choice", chooseIndex},
		{"index-only", findIndexOnly},
		{"text-counts", findTextCounts},
		{"cover", covers},
	}
}

// compiler returns a compiler of expressions that do not use computed properties.
func (p *Planner) compiler() *eval.Compiler {
	return &eval.Compiler{Binder: p.Binder, Blocks: map[*bind.QueryBlock]*eval.CompiledSelect{}}
}

// compilerFor returns a compiler of expressions that may use the computed properties.
func (p *Planner) compilerFor(list []bind.ComputedProperty) (*eval.Compiler, error) {
	c := p.compiler()
	c.Computed = make(map[string]eval.ValueFunc, len(list))
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

// Streamable reports whether the query consists only of SELECT, VALUE, FROM, JOIN and WHERE, so that its
// result over several partition ranges is the rows of one range after the other. Any other query over
// several ranges needs merging.
func (p *Plan) Streamable() bool {
	t := p.Top
	return p.Form == cursor.Streaming && t.Top < 0 && t.Limit < 0 && t.Container && !p.distinct
}

// ListsAggregates reports whether a select list has aggregates over all rows rather than groups. A gateway
// refuses such a query if the client does not announce that it merges aggregates, even if the conditions
// name one partition. The tests of the SDK for Python require this.
func (p *Plan) ListsAggregates() bool { return bind.ListsAggregates(p.Top) }

// CallsFunctions reports whether the query calls user defined functions.
func (p *Plan) CallsFunctions() bool { return p.Shape.UDFs > 0 }

// UsedAndPotentialIndexes lists the indexes that a query uses and those that would help it, as index metrics
// name them: /a/? for a range index, /a ASC for the paths of a composite one.
type UsedAndPotentialIndexes struct {
	Single, PotentialSingle       []string
	Composite, PotentialComposite [][]string
}

// IndexUse returns the query's use of indexes.
func (p *Plan) IndexUse() UsedAndPotentialIndexes { return p.Use }

// Ordered reports whether the query has an ORDER BY. descending reports whether its first key is DESC; rows
// with equal keys then come last to first.
func (p *Plan) Ordered() (descending, ok bool) {
	if len(p.Top.Order) == 0 || p.Order != nil && p.Order.implied {
		return false, false
	}
	return p.Top.Order[0].Desc, true
}

// compileComputed compiles the query of a computed property to a ValueFunc that evaluates it on a document.
func compileComputed(one bind.ComputedProperty, info *bind.ContainerInfo) (eval.ValueFunc, error) {
	q, err := syntax.Parse(one.Query)
	if err != nil {
		return nil, queryerror.SyntaxError(err)
	}
	bare := bind.ContainerInfo{Geometry: info.Geometry, Vectors: maps.Clone(info.Vectors)}
	b, err := bind.Tree(q, one.Query, nil, &bare, FoldConstants)
	if err != nil {
		return nil, err
	}
	bl := b.Top
	if bl.Value == nil || len(bl.Steps) != 1 || bl.Steps[0].Kind != bind.StepItem || b.Slots > 0 ||
		bl.Grouped ||
		len(bl.Where) > 0 {
		return nil, queryerror.Plain("The query of the computed property '" + one.Name +
			"' is not of the form SELECT VALUE <expression> FROM c.")
	}
	p := &Planner{Binder: b.Binder, Plan: &Plan{}}
	foldExprs(p)
	return p.compiler().Value(bl.Value), nil
}

// NewComputed compiles computed properties to a function that evaluates them on the text of a document, for
// use by indexes. The function is safe for concurrent use. The error is an *Error.
func NewComputed(list []bind.ComputedProperty) (func(name string, body []byte) jsondoc.Value, error) {
	compiled := make(map[string]eval.ValueFunc, len(list))
	for _, one := range list {
		v, err := compileComputed(one, &bind.ContainerInfo{})
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
		f := eval.NewFrame(eval.NewRun(context.Background(), eval.FrameSettings{}, eval.Env{}),
			eval.FrameSettings{})
		f.Body = body
		return v(f)
	}, nil
}

// HashIn returns a hash of the query together with scope, a text that identifies the part of the container
// that the query reads. A continuation token is valid only for a query with the same hash.
func (p *Plan) HashIn(scope string) uint64 { return p.Hash ^ cursor.KeySum([]byte(scope)) }
