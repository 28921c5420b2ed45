package httpapi

// fail responds to the request with err. Values that have already been set in the response (charge, session
// token, etag) are sent as well.
func (c *activeRequest) fail(err error) {
	c.srv.ops.Fail(&c.req, &c.ans, err)
	if c.committed() {
		return // the head has been sent
	}
	c.answer()
}

// json responds with a status and a body. The body is JSON unless a content type has been set.
func (c *activeRequest) json(status int, body []byte) error {
	c.ans.Status, c.ans.Body = status, body
	if err := c.srv.ops.Hold(c.ctx(), &c.req, &c.ans); err != nil {
		return err
	}
	c.answer()
	return nil
}

// noContent responds with a status and headers only.
func (c *activeRequest) noContent(status int) error { return c.json(status, nil) }
