package httpapi

// fail answers the request with err. What the answer has already (charge, session token, etag) stays.
func (c *call) fail(err error) {
	c.srv.ops.Fail(&c.req, &c.ans, err)
	if c.w.Committed {
		return // the head is out already: there is nothing left to say
	}
	c.answer()
}

// json answers with a body, which is JSON text where no content type has been set.
func (c *call) json(status int, body []byte) error {
	c.ans.Status, c.ans.Body = status, body
	if err := c.srv.ops.Hold(c.ctx(), &c.req, &c.ans); err != nil {
		return err
	}
	c.answer()
	return nil
}

// noContent answers with status and headers alone.
func (c *call) noContent(status int) error { return c.json(status, nil) }
