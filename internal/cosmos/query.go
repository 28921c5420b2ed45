package cosmos

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
)

func (s *Service) queryItems(c *requestInProgress) error {
	p, rid, err := s.within(c)
	if err != nil {
		return err
	}
	text, params, err := decodeQuery(c)
	if err != nil {
		return err
	}
	var resume *store.OrderedQueryResumePosition
	if !c.req.BareText {
		if resume, err = decodeResume(jsondoc.Of(c.req.Body).Member("resumeFilter")); err != nil {
			return err
		}
	}
	began := s.opt.Wall.Now()
	result, r, err := p.container.Query(c.ctx, store.QueryRequest{
		Text: text, Parameters: params, ListOptions: c.in.listOptions(), Cross: s.crossPartition(c), Resume: resume,
		Explain: s.opt.SlowQuery > 0,
	})
	c.setReceiptOf(r)
	took := s.opt.Wall.Now().Sub(began)
	c.logSlow(text, params, &result, r, took, err)
	if err != nil {
		return err
	}
	c.out.Direct = c.in.Direct // if it is not set, the client discards the page and requests a plan
	c.setItemQuota(p.container)
	return c.sendResult(rid, "Documents", &result, took)
}

// crossPartition returns whether a query without a partition key may read several partitions, and whether
// the server merges the results. This depends on the client's headers and the server's options.
func (s *Service) crossPartition(c *requestInProgress) store.CrossPartitionMode {
	switch {
	case s.opt.ServeCrossPartition || c.in.ServeCross:
		return store.CrossServe
	case c.in.CrossPartition:
		return store.CrossStream
	}
	return store.CrossRefuse
}

// queryFeed responds with one page of a query over the rows of a feed. The query runs on the JSON text that a
// read returns. Paging is stateless: the continuation token contains the position of a row.
func queryFeed[T any](c *requestInProgress, f resourceFeed[T]) error {
	text, params, err := decodeQuery(c)
	if err != nil {
		return err
	}
	wall := c.srv.opt.Wall
	began := wall.Now()
	elapsed := func() time.Duration { return wall.Now().Sub(began) }
	var plan *query.Plan
	late := c.srv.db.Large(c.ctx, len(text)*store.TextWeight, func() {
		plan, err = query.Prepare(text, params, query.ContainerInfo{Lenient: true})
	})
	if late != nil {
		return late
	}
	if err != nil {
		return queryError(err)
	}
	if _, ordered := plan.Ordered(); ordered {
		return BadRequest("Order-by is not supported for the target resource type.")
	}
	list := make([]query.CallerProvidedObject, len(f.rows))
	for i, row := range f.rows {
		list[i].Text = f.render(nil, row)
		if list[i].Position, err = strconv.ParseUint(f.position(row), 16, 64); err != nil {
			return err
		}
	}
	var page query.Page
	env := query.NewEnv(c.srv.db.Now, elapsed)
	err = c.srv.db.RunQuery(&env, func() (err error) {
		page, err = plan.RunValues(c.ctx, list, env, query.RunOptions{
			MaxItems: store.PageLimit(c.in.MaxItems), MaxBytes: store.MaxPageBytes, Cursor: c.in.Continuation,
			Scope:   f.scope(),
			Certain: true,
		})
		return err
	})
	if err != nil {
		return queryError(err)
	}
	result := store.QueryPage{Rows: page.Rows, Continuation: page.Cursor, Stats: page.Stats,
		Indexes: plan.IndexUse()}
	return c.sendResult(f.owner, f.key, &result, elapsed())
}

// sendResult responds with a page of a query's result. took is the time that was needed to make it. Once
// the rows are encoded, it releases their memory, so that they do not stay there while a slow client reads.
func (c *requestInProgress) sendResult(owner, key string, p *store.QueryPage, took time.Duration) error {
	size := 0
	for _, row := range p.Rows {
		size += len(row) + 1
	}
	out := c.newPage(owner, key, size)
	for _, row := range p.Rows {
		out.row()
		out.b = append(out.b, row...)
	}
	p.Rows = nil
	c.out.Continuation = p.Continuation
	c.setExecutionInfo(*p)
	c.setIndexUse(p.Indexes)
	c.setQueryMetrics(p.Stats, took)
	return c.sendPage(out)
}

// decodeQuery parses the body of a query: {"query": "...", "parameters": [{"name": "@p", "value": ...}]}, or
// the plain text. Unknown members, which some clients send, are ignored.
func decodeQuery(c *requestInProgress) (text string, params []store.QueryParameter, err error) {
	if c.req.BareText {
		if !utf8.Valid(c.req.Body) {
			return "", nil, BadRequest("The query is not valid UTF-8.")
		}
		return string(c.req.Body), nil, nil
	}
	body, err := decodeStored(c.req.Body)
	if err != nil {
		return "", nil, err
	}
	if text, err = decodeText(body, "query"); err != nil {
		return "", nil, err
	}
	params, err = store.ParseParameters(body.Member("parameters"))
	return text, params, err
}

// decodeText returns a required string member of a request's body.
func decodeText(body jsondoc.Value, name string) (string, error) {
	v := body.Member(name)
	if v.Kind() != jsondoc.String {
		return "", BadRequest("The input content is invalid because the required property '" + name +
			"' is missing or is not a string.")
	}
	return v.Str(), nil
}
