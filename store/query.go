package store

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/ttl"
)

// QueryRequest is a query over the items of a container.
type QueryRequest struct {
	Text       string
	Parameters []Parameter
	ListOptions
	// Cross says what may be done for a query whose scope is the whole container.
	Cross CrossPartition
	// Explain asks for the plan, with what each part of it did and how long it took.
	Explain bool
}

// Parameter is a named value of a query, its name with the '@'.
type Parameter = query.Parameter

// CrossPartition says how far a query may reach that names no partition key and no range, neither beside its text nor by its
// conditions.
type CrossPartition uint8

// The reaches. The last two are what a gateway of Cosmos DB does.
const (
	// CrossServe answers every query; partial results of the ranges are merged here.
	CrossServe CrossPartition = iota
	// CrossStream answers what needs no merging, and the rest with CodeCrossPartition: the client is to merge.
	CrossStream
	// CrossRefuse answers with CodeBadRequest.
	CrossRefuse
)

// QueryPage is one page of a query's result.
type QueryPage struct {
	Rows         [][]byte // JSON values
	Continuation string   // empty on the last page
	Stats        query.Stats
	Indexes      query.IndexUse
	Plan         string // with QueryRequest.Explain
	// Ordered tells that the rows come by an ORDER BY, Descending that its first key is DESC: equal rows come latest first.
	Ordered, Descending bool
}

// Query returns one page of a query's result. Without ORDER BY the rows come in the order of insertion, range after range.
// A continuation stays valid through writes and restarts, for the same query and scope. A query that cannot be answered
// fails with CodeBadRequest, and a *query.Error tells where and why; CodeCrossPartition: see CrossStream.
func (c *Container) Query(ctx context.Context, q QueryRequest) (QueryPage, Receipt, error) {
	c.db.enter()
	defer c.db.leave()
	for {
		st := c.state.Load()
		plan, err := c.plan(st, q)
		if err != nil {
			return QueryPage{}, c.refused(), wrap(err)
		}
		page, r, err := c.run(ctx, st, plan, q)
		if err != errStale {
			return page, r, wrap(err)
		}
	}
}

// errStale tells that the container's settings have changed since the plan was made, which relies on what was indexed then.
var errStale = errors.New("the plan is stale")

// run makes one page by a plan that was made for a state.
func (c *Container) run(ctx context.Context, st *containerState, plan *query.Plan, q QueryRequest) (QueryPage, Receipt, error) {
	scope, err := c.reach(plan, q)
	if err != nil {
		return QueryPage{}, c.refused(), err
	}
	var page query.Page
	var served *slot
	stale := false
	err = c.withSources(ctx, scope, func(sp span, sources []*source) error {
		list := make([]query.Source, len(sources))
		for i, src := range sources {
			if stale = src.st.terms != st.terms; stale {
				return nil
			}
			if err := c.checkSession(src.s, q.Session); err != nil {
				return err
			}
			list[i], served = src, src.s
		}
		if len(list) == 0 {
			return nil // bounds with nothing between them
		}
		began := ttl.Real{}.Now()
		env := query.Env{Now: sources[0].Now(), Random: rand.Float64, Elapsed: func() time.Duration { return ttl.Real{}.Now().Sub(began) }}
		var err error
		page, err = plan.Run(ctx, list, env, query.RunOptions{
			MaxItems: pageLimit(q.MaxItems), MaxBytes: maxPageSize, Cursor: q.Continuation, Scope: sp.name(), Trace: q.Explain,
		})
		return err
	})
	if stale {
		return QueryPage{}, Receipt{}, errStale
	}
	r := c.refused()
	if served != nil {
		r = c.receipt(served, chargeFailure)
	}
	if err != nil {
		return QueryPage{}, r, err
	}
	r.Charge = chargeRows(page.Stats)
	out := QueryPage{Rows: page.Rows, Continuation: page.Cursor, Stats: page.Stats, Indexes: plan.IndexUse()}
	out.Descending, out.Ordered = plan.Ordered()
	if q.Explain {
		out.Plan = plan.Explain(page.Stats)
	}
	return out, r, nil
}

// Rows runs a query from its first page to its last and yields each row, a JSON value that is the caller's to keep. An
// error ends it; so does leaving the loop, or the end of ctx.
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

// plan prepares a query for a state of the container.
func (c *Container) plan(st *containerState, q QueryRequest) (*query.Plan, error) {
	info := query.Info{
		Index: st.terms, PartitionPaths: c.def.paths(), Lenient: c.db.opts.Lenient,
		Geometry: st.spec.Geospatial == Geometry,
	}
	for _, p := range st.spec.ComputedProperties {
		info.Computed = append(info.Computed, query.Computed{Name: p.Name, Query: p.Query})
	}
	if st.spec.VectorEmbedding != nil {
		info.Vectors = make(map[string]string)
		for _, e := range st.spec.VectorEmbedding.Embeddings {
			info.Vectors[e.Path] = e.DistanceFunction
		}
	}
	return query.Prepare(q.Text, q.Parameters, info)
}

// reach finds the scope of a query. One that names none may pin its partition key, or the beginning of it, in its conditions.
func (c *Container) reach(plan *query.Plan, q QueryRequest) (Scope, error) {
	if s := q.Scope; !s.Partition.IsZero() || s.Range != "" || s.MinEPK != "" || s.MaxEPK != "" {
		return s, nil
	}
	keys, pinned := plan.PinnedKeys()
	switch {
	case pinned && len(keys) == 0:
		return q.Scope, nil // there is nothing to read
	case pinned && len(keys) == 1:
		return Scope{Partition: NewPartitionKey(keys[0]...)}, nil // one partition, or those below the beginning of a key
	case q.Cross == CrossRefuse:
		return Scope{}, fail(CodeBadRequest, "Cross partition query is required but disabled. Please set "+
			"x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception.")
	case q.Cross == CrossStream && !plan.Streamable():
		return Scope{}, fail(CodeCrossPartition, "The provided cross partition query can not be directly served by the gateway. "+
			"This is a first chance (internal) exception that all newer clients will know how to handle gracefully.")
	}
	return q.Scope, nil
}

// queryError finds the Code of what package query reports.
func queryError(err error) *Error {
	var wrong *query.Error
	var cursor *query.CursorError
	var memory *query.MemoryError
	switch {
	case errors.As(err, &cursor):
		return &Error{Code: CodeBadRequest, Message: "Invalid Continuation Token", Err: err}
	case errors.As(err, &wrong), errors.As(err, &memory):
		return &Error{Code: CodeBadRequest, Message: err.Error(), Err: err}
	}
	return nil
}
