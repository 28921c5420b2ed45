package store

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/procedure"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// resumePlace converts the position of a client, which names an item by its resource id, to that of a query,
// which names it by its number. It fails with CodeBadRequest if the id is not that of an item of this
// container.
func (c *Container) resumePlace(r *OrderedQueryResumePosition) (*query.OrderByStartPosition, error) {
	if r == nil {
		return nil, nil
	}
	at := &query.OrderByStartPosition{Values: r.Values, Exclude: r.Exclude}
	if r.RID != "" {
		b, ok := layout.ParseRID(r.RID, 16)
		if !ok || string(b[:8]) != string(layout.ContainerRIDBytes(c.d.rec.Num, c.cid)) {
			return nil, value.BadRID(r.RID)
		}
		at.RID = binary.LittleEndian.Uint64(b[8:])
	}
	return at, nil
}

// Query returns one page of a query's result. Without ORDER BY the rows are in insertion order, range after
// range.
//
// A continuation stays valid through writes and restarts, for the same query and scope. A page has a
// continuation if a row follows it, or if its time ended before that was known. A full page of a query
// without conditions, JOIN, TOP and OFFSET has a continuation even if nothing follows, except in one logical
// partition.
//
// An invalid query fails with CodeBadRequest; a *query.Error has the position and the reason. In the mode
// CrossStream, a query over several ranges that has aggregates, or whose rows must be merged, fails with
// CodeCrossPartition. The cause of that error is a *ClientMergeRequiredError, or a *query.Error if clients
// cannot merge the rows either.
func (c *Container) Query(ctx context.Context, q QueryRequest) (QueryPage, OperationReceipt, error) {
	c.beginUse()
	defer c.endUse()
	if err := c.checkPositions(ctx, q.Session); err != nil {
		return QueryPage{}, c.refused(), err
	}
	for {
		st := c.state.Load()
		plan, err := c.plan(ctx, st, q)
		if err != nil && c.outdated(ctx, st) {
			continue
		}
		if err != nil {
			return QueryPage{}, c.refused(), classify.ToFault(err)
		}
		if plan.CallsFunctions() {
			if err := c.ds.catchUp(ctx); err != nil {
				return QueryPage{}, c.refused(), err
			}
		}
		page, r, err := c.run(ctx, st, plan, q)
		// A range was split during the query.
		if err != errStale && !(q.ByRange && q.Scope.Range == "" &&
			fault.ErrorCode(err) == fault.CodeRangeGone) {
			return page, r, classify.ToFault(err)
		}
	}
}

// plan plans a query for state st, or returns a cached plan. Only a plan of a long text can take long, and
// such plans are not cached.
func (c *Container) plan(ctx context.Context, st *container.State,
	q QueryRequest) (plan *query.Plan, err error) {
	late := c.large(ctx, weightOf(q), func() {
		plan, err = c.plans.Plan(q.Text, q.Parameters, st.Terms,
			func() query.ContainerInfo { return c.items.QueryInfo(st) })
	})
	if late != nil {
		return nil, late
	}
	return plan, err
}

// weightOf returns how long a query's text and parameters take to parse, as the number of bytes of JSON that
// would take as long: see DB.Large.
func weightOf(q QueryRequest) int {
	n := len(q.Text)
	for i := range q.Parameters {
		n += q.Parameters[i].Value.TextLen()
	}
	return n * work.TextWeight
}

// ClientMergeRequiredError is the cause of CodeCrossPartition. It has the plan by which the client can query
// each partition range and merge the results.
type ClientMergeRequiredError struct {
	Plan []byte // as QueryPlan returns it
}

func (*ClientMergeRequiredError) Error() string {
	return "the client must merge the results of the partition ranges"
}

// errStale means that the container's settings have changed since the plan was made. The plan depends on
// the indexes that existed when it was made.
var errStale = errors.New("the plan is stale")

// run computes one page with a plan that was made for state st.
func (c *Container) run(ctx context.Context, st *container.State, plan *query.Plan, q QueryRequest) (
	QueryPage, OperationReceipt, error) {
	scope, over, err := c.reach(st, plan, q)
	if err != nil {
		return QueryPage{}, c.refused(), err
	}
	o := query.RunOptions{
		MaxItems: PageLimit(q.MaxItems), MaxBytes: MaxPageBytes, Cursor: q.Continuation, Trace: q.Explain,
		Certain: c.isFull(q.Scope.Partition), Budget: q.Within,
	}
	var l scan.MultiRangeReadSegment
	var state *view.ContainerAtTime
	if over != nil {
		state = c.viewState(st, 0)
		if l, err = scan.StageOf(state, over, q.Continuation); err != nil {
			return QueryPage{}, c.refused(), err
		}
		scope.Range, o.Cursor = l.Range.ID, l.Token
	}
	if o.Resume, err = c.resumePlace(q.Resume); err != nil {
		return QueryPage{}, c.refused(), err
	}
	page, served, err := c.runIn(ctx, st, plan, scope, q.Session, o)
	if err == errStale {
		return QueryPage{}, OperationReceipt{}, err
	}
	r := c.refused()
	if served != nil {
		r = c.receipt(served, value.ChargeFailure)
	}
	if err == nil && over != nil {
		page.Cursor, err = l.NextToken(state, page.Cursor, func(next *view.PartitionRange) (string, error) {
			scope.Range = next.ID
			sp, err := c.scope(st, scope)
			return plan.Beginning(sp.Name(), sp.Spans()), err
		})
	}
	if err != nil {
		return QueryPage{}, r, err
	}
	r.Charge = value.ChargeRows(page.Stats)
	out := QueryPage{Rows: page.Rows, Continuation: page.Cursor, Stats: page.Stats, Indexes: plan.IndexUse()}
	// The posting of the partition key is used to find its items.
	if use := &out.Indexes; len(use.Single)+len(use.Composite) == 0 {
		for _, path := range c.def.ParsedPaths()[:c.def.Plain(q.Scope.Partition).Len()] {
			use.Single = append(use.Single, path.String()+"/?")
		}
	}
	out.Descending, out.Ordered = plan.Ordered()
	if q.Explain {
		out.Plan = plan.Explain(page.Stats)
	}
	return out, r, nil
}

// runIn computes one page of the rows in a scope. served is the last range that was read, nil if there was
// none. It fails with errStale if the settings have changed since the plan was made.
func (c *Container) runIn(ctx context.Context, st *container.State, plan *query.Plan,
	scope KeyOrRange,
	session []SessionTokenEntry, o query.RunOptions) (page query.Page, served *container.Partition,
	err error) {
	stale := false
	err = c.withSources(ctx, scope,
		func(sp *scan.ResolvedKeyOrRange, sources []*scan.DocumentSource,
			ranges []*container.Partition) error {
			list := make([]query.DocumentSource, len(sources))
			for i, src := range sources {
				if stale = src.State.Terms != st.Terms; stale {
					return nil
				}
				if err := c.checkSession(ranges[i], session); err != nil {
					return err
				}
				list[i], served = src, ranges[i]
			}
			if len(list) == 0 {
				return nil // the bounds contain no range
			}
			watch := c.ds.pageWatch(ctx)
			env := query.NewEnv(c.queryTime, watch.Elapsed)
			env.Limit = watch.Limit
			heavy := c.ds.db.heavy.Query(env.Elapsed, env.Limit)
			defer heavy.Leave()
			defer c.ds.db.memory.Attach(&env)()
			env.Turn, env.Temp = heavy.Turn, c.ds.db.temp
			// The state that the page before has kept can be used only once, so the run must not be
			// repeated.
			heavy.BegunAnew = c.ds.pageStates.Has(o.Cursor)
			var udfs *procedure.QueryUDFRuntime // most queries call none
			defer func() {
				if udfs != nil {
					udfs.Close()
				}
			}()
			env.UDF = func(name string, args []jsondoc.Value) (jsondoc.Value, error) {
				if udfs == nil {
					udfs = c.scripts().Functions(ctx)
				}
				return udfs.Call(name, args)
			}
			if o.Budget <= 0 || o.Budget > watch.Budget {
				o.Budget = watch.Budget
			}
			sources[0].Watch.Budget = o.Budget // shared by all sources: scans of expired items end with the page
			o.Scope, o.Spans, o.Memory = sp.Name(), sp.Spans(), c.ds.pageStates
			return heavy.Run(func() (err error) {
				page, err = plan.Run(ctx, list, env, o)
				return err
			})
		})
	if stale {
		err = errStale
	}
	return page, served, err
}

// Rows runs a query from its first page to its last and yields each row. A row is a JSON value that the
// caller may keep. Rows ends with the first error, which it yields, or when the caller leaves the loop.
func (c *Container) Rows(ctx context.Context, q QueryRequest) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			page, _, err := c.Query(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range page.Rows {
				if !yield(row, nil) {
					return
				}
			}
			if page.Continuation == "" {
				return
			}
			q.Continuation = page.Continuation
		}
	}
}

// reach returns the scope of a query, and the spans of partition keys that its pages read one after the
// other. It returns no spans if the query does not run range by range. For a query without a scope, reach
// uses the partition key, or the prefix of one, that its conditions determine.
func (c *Container) reach(st *container.State, plan *query.Plan,
	q QueryRequest) (KeyOrRange, []query.SourceKeyRange, error) {
	byRange := q.ByRange && plan.Streamable()
	if s := q.Scope; !s.Partition.IsZero() || s.Range != "" || s.MinEPK != "" || s.MaxEPK != "" {
		if !byRange {
			return s, nil, nil
		}
		over, err := scan.SpansOver(c.viewState(st, 0), s)
		return s, over, err
	}
	var keys []definition.PartitionKey
	values, pinned := plan.PinnedKeys()
	for _, v := range values {
		keys = append(keys, c.def.Plain(definition.NewPartitionKey(v...)))
	}
	switch {
	case pinned && len(keys) == 0:
		return q.Scope, nil, nil // the conditions contradict each other: nothing to read
	case q.Cross == CrossStream && plan.ListsAggregates():
		return KeyOrRange{}, nil, c.mustMerge(plan, q)
	case pinned && len(keys) == 1: // one partition, or all with this prefix of a key
		if byRange || q.ByRange && c.isFull(keys[0]) {
			return KeyOrRange{Partition: keys[0]}, scan.SpansOfKeys(&c.def, keys), nil
		}
		return KeyOrRange{Partition: keys[0]}, nil, nil
	case q.Cross == CrossRefuse:
		return KeyOrRange{}, nil, CrossPartitionDisabled()
	case q.Cross == CrossStream && !plan.Streamable():
		return KeyOrRange{}, nil, c.mustMerge(plan, q)
	case byRange && pinned:
		return q.Scope, scan.SpansOfKeys(&c.def, keys), nil
	case byRange:
		return q.Scope, []query.SourceKeyRange{{}}, nil
	}
	return q.Scope, nil, nil
}

// CrossPartitionDisabled returns the error for a query that would have to read all partitions and may not:
// see CrossRefuse.
func CrossPartitionDisabled() error {
	return fault.New(fault.CodeBadRequest, "Cross partition query is required but disabled. Please set "+
		"x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception.")
}

// mustMerge returns the error, with CodeCrossPartition, for a query over several ranges whose rows the client
// must merge. It contains the plan by which the client merges them or, if there can be no such plan, the
// reason.
func (c *Container) mustMerge(plan *query.Plan, q QueryRequest) error {
	text, err := c.gatewayPlan(q, nil, plan.Gateway)
	if err != nil {
		return &fault.Error{Code: fault.CodeCrossPartition, Message: err.Error(), Err: err}
	}
	return &fault.Error{Code: fault.CodeCrossPartition, Err: &ClientMergeRequiredError{text},
		Message: "The provided cross partition query can not be " +
			"directly served by the gateway. This is a first chance (internal) exception that all newer clients will know how to handle gracefully."}
}

// ParseParameters reads the parameters of a query in the form in which clients send them: [{"name": "@p",
// "value": ...}]. null and an absent value mean no parameters. It fails with CodeBadRequest for anything
// else, or for a parameter whose name does not begin with '@'.
func ParseParameters(list jsondoc.Value) (params []QueryParameter, err error) {
	if k := list.Kind(); k != jsondoc.Array && k != jsondoc.Null && k != jsondoc.Undefined {
		return nil, fault.New(fault.CodeBadRequest, "The 'parameters' of a query must be an array.")
	}
	list.Each(func(_ string, p jsondoc.Value) bool {
		name := p.Member("name").Str()
		if len(name) < 2 || name[0] != '@' {
			err = fault.New(fault.CodeBadRequest,
				"Each parameter of a query needs a 'name' that begins with '@'.")
		}
		params = append(params, QueryParameter{Name: name, Value: p.Member("value")})
		return err == nil
	})
	return params, err
}
