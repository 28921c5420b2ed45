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
}

// Query returns one page of a query's result. Without ORDER BY the rows come in the order of insertion, range after range.
// A continuation stays valid through writes and restarts, for the same query and scope. A query that cannot be answered
// fails with CodeBadRequest, and a *query.Error tells where and why; CodeCrossPartition: see CrossStream.
func (c *Container) Query(ctx context.Context, q QueryRequest) (QueryPage, Receipt, error) {
	c.db.enter()
	defer c.db.leave()
	plan, err := c.plan(q)
	if err != nil {
		return QueryPage{}, c.refused(), wrap(err)
	}
	if q.Scope, err = c.reach(plan, q); err != nil {
		return QueryPage{}, c.refused(), err
	}
	var page query.Page
	var served *slot
	out := QueryPage{Indexes: plan.IndexUse()}
	err = c.withSources(ctx, q.Scope, func(sp span, sources []*source) error {
		list := make([]query.Source, len(sources))
		for i, src := range sources {
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
	r := c.refused()
	if served != nil {
		r = c.receipt(served, chargeFailure)
	}
	if err != nil {
		return QueryPage{}, r, wrap(err)
	}
	r.Charge = chargeRows(page.Stats)
	out.Rows, out.Continuation, out.Stats = page.Rows, page.Cursor, page.Stats
	if q.Explain {
		out.Plan = ""
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

// plan prepares a query for the container's present settings.
func (c *Container) plan(q QueryRequest) (*query.Plan, error) {
	st := c.state.Load()
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

// reach finds the scope of a query. One that names none may pin its partition key in its conditions.
func (c *Container) reach(plan *query.Plan, q QueryRequest) (Scope, error) {
	if s := q.Scope; !s.Partition.IsZero() || s.Range != "" || s.MinEPK != "" || s.MaxEPK != "" {
		return s, nil
	}
	if values, ok := plan.PartitionKey(); ok {
		return Scope{Partition: NewPartitionKey(values...)}, nil
	}
	if keys, ok := plan.PinnedKeys(); ok && len(keys) == 0 {
		return q.Scope, nil // there is nothing to read
	}
	switch {
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
