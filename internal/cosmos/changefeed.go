package cosmos

import "github.com/mayflydb/mayfly/store"

// changeFeed responds with a page of changes, or with 304 if there are none, which means that the client has
// reached the end. If a page ended early, the status is 200 even if the page is empty, so that the client
// continues. Both responses contain the etag from which the client continues, and the item count, which the
// SDK for .NET always reads. Neither has a continuation header.
func (s *Service) changeFeed(c *requestInProgress) error {
	p, rid, err := s.within(c)
	if err != nil {
		return err
	}
	req, err := c.in.changes()
	if err != nil {
		return err
	}
	changes, r, err := p.container.Changes(c.ctx, req)
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	c.out.setETag(`"` + changes.Position + `"`)
	if len(changes.Changes) == 0 && !changes.More {
		c.out.setItemCount(0)
		return c.noContent(StatusNotModified)
	}
	size := 0
	for i := range changes.Changes {
		size += len(changes.Changes[i].Item.Body()) + systemRoom
		if previous := changes.Changes[i].Previous; previous != nil {
			size += len(previous.Body()) + systemRoom
		}
	}
	out := c.newPage(rid, "Documents", size)
	// If no policy for previous images is set, Cosmos DB includes them for deletes but not for replaces.
	spec := p.container.Info().Spec
	_, chosen := spec.PreviousImages()
	replaced := chosen || c.in.PreviousImages
	for i := range changes.Changes {
		out.row()
		if changes.Changes[i].Kind == store.ChangeReplace && !replaced {
			changes.Changes[i].Previous = nil
		}
		if c.in.MetadataApart { // the change feed processor of the Java SDK reads this form in every mode
			out.b = changes.Changes[i].AppendSeparately(out.b)
		} else {
			out.b = changes.Changes[i].AppendJSON(out.b)
		}
	}
	changes.Changes = nil
	c.setItemQuota(p.container)
	return c.sendPage(out)
}

// queryChanges responds with the result of a query over a page of changes.
func (s *Service) queryChanges(c *requestInProgress) error {
	p, rid, err := s.within(c)
	if err != nil {
		return err
	}
	req, err := c.in.changes()
	if err != nil {
		return err
	}
	text, params, err := decodeQuery(c)
	if err != nil {
		return err
	}
	began := s.opt.Wall.Now()
	page, r, err := p.container.QueryChanges(c.ctx, req, store.QueryRequest{Text: text, Parameters: params})
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	c.out.setETag(`"` + page.Position + `"`)
	if len(page.Rows) == 0 && !page.More {
		c.out.setItemCount(0)
		return c.noContent(StatusNotModified)
	}
	result := &store.QueryPage{Rows: page.Rows, Stats: page.Stats}
	page.Rows = nil
	return c.sendResult(rid, "Documents", result, s.opt.Wall.Now().Sub(began))
}

// changes returns the change feed request of the headers. A feed of all versions and deletes begins at the
// current end (If-None-Match: *) or at a continuation etag. A time without an etag is an error; if a time is
// given together with an etag, older changes are left out. In a feed of the latest versions an etag takes
// precedence over a time.
func (h *RequestHeaders) changes() (store.ChangesRequest, error) {
	req := store.ChangesRequest{Scope: h.scope(), Session: h.Session, MaxItems: h.MaxItems}
	if h.FullFidelity {
		req.Mode = store.AllVersions
	}
	if position := bareETag(h.IfNoneMatch); position == "*" {
		req.Start.Now = true
	} else {
		req.Start.After = position
	}
	if h.ModifiedSince != "" {
		since, err := ParseDate(h.ModifiedSince)
		if err != nil {
			return req, BadHeader("if-modified-since", h.ModifiedSince)
		}
		if h.FullFidelity && h.IfNoneMatch == "" && since.Unix() > 0 {
			return req, BadRequest("The change feed of all versions and deletes cannot begin at a point in time: it " +
				"begins now or at a continuation.")
		}
		if req.Start.After == "" || h.FullFidelity {
			req.Start.Since = since
		}
	}
	return req, nil
}
