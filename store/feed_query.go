package store

import (
	"context"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/value"
)

// ChangesQueryPage is one page of the rows that a query returns for the changes of a change feed.
type ChangesQueryPage struct {
	Rows     [][]byte // JSON values; empty if no change after the start matches the query
	Position string   // as in ChangesPage
	More     bool     // as in ChangesPage
	Stats    query.Stats
}

// QueryChanges runs a query over the changes after a start and returns its rows. To the query each change
// is a document: the item with _lsn, or for AllVersions the change in the form of that mode. The query may
// consist of SELECT, FROM, JOIN and WHERE. QueryChanges skips pages whose changes produce no row, so a page
// without rows is at the end of the feed, unless it has More. The scope, session and page size are taken
// from req, not from q. CodeBadRequest: an invalid query, or one with other clauses. The other errors are
// those of Changes.
func (c *Container) QueryChanges(ctx context.Context, req ChangesRequest,
	q QueryRequest) (ChangesQueryPage, OperationReceipt, error) {
	info := c.items.QueryInfo(c.state.Load())
	info.Index, info.Lenient = nil, true
	var plan *query.Plan
	var err error
	late := c.large(ctx, weightOf(q), func() { plan, err = query.Prepare(q.Text, q.Parameters, info) })
	if late != nil {
		err = late
	}
	if err == nil && !plan.Streamable() {
		err = fault.New(fault.CodeBadRequest,
			"A query of a change feed consists of SELECT, FROM, JOIN and WHERE.")
	}
	if err != nil {
		return ChangesQueryPage{}, c.refused(), classify.ToFault(err)
	}
	if plan.CallsFunctions() {
		if err := c.ds.catchUp(ctx); err != nil {
			return ChangesQueryPage{}, c.refused(), err
		}
	}
	udfs := c.scripts().Functions(ctx)
	defer udfs.Close()
	watch := c.ds.pageWatch(ctx)
	env := query.NewEnv(c.queryTime, watch.Elapsed)
	env.Limit, env.UDF = watch.Limit, udfs.Call
	heavy := c.ds.db.heavy.Query(env.Elapsed, env.Limit)
	defer heavy.Leave()
	heavy.BegunAnew = true // a run must not be repeated, since it appends to out.Rows
	env.Turn = heavy.Turn
	defer c.ds.db.memory.Attach(&env)()
	var out ChangesQueryPage
	var total OperationReceipt
	for {
		page, r, err := c.Changes(ctx, req)
		r.Charge = value.RoundCharge(r.Charge + total.Charge)
		if total = r; err != nil {
			return ChangesQueryPage{}, total, err
		}
		out.Position, out.More = page.Position, page.More
		if err := heavy.Run(func() error { return out.add(ctx, plan, env, page.Changes) }); err != nil {
			return ChangesQueryPage{}, total, classify.ToFault(err)
		}
		if len(page.Changes) == 0 || len(out.Rows) > 0 || req.Start.Now {
			return out, total, nil
		}
		if watch.Check(); watch.Late {
			out.More = true
			return out, total, nil
		}
		req.Start.After = page.Position
	}
}

// add runs the query over some changes and appends its rows to the page.
func (p *ChangesQueryPage) add(ctx context.Context, plan *query.Plan, env query.Env, changes []Change) error {
	list := make([]query.CallerProvidedObject, len(changes))
	for i := range changes {
		list[i] = query.CallerProvidedObject{Position: uint64(i + 1), Text: changes[i].AppendJSON(nil)}
	}
	for cursor := ""; len(list) > 0; {
		page, err := plan.RunValues(ctx, list, env, query.RunOptions{MaxItems: MaxPageItems, Cursor: cursor})
		if err != nil {
			return err
		}
		p.Rows = append(p.Rows, page.Rows...)
		p.Stats.Add(page.Stats)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	return nil
}
