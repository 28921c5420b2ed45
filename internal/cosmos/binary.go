package cosmos

import (
	"errors"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/jsondoc/jsonbinary"
)

// Clients send items as binary JSON where they like; its first byte tells it from text, and a content type
// does not. They get it where their headers ask for it and do not take text as well: then text is as good,
// and cheaper to make. Read feeds are text.

// Formats are the forms of JSON that a client takes in the body of an answer.
type Formats struct{ Text, Binary bool }

// takesBinary reports whether the answer's items are to be binary JSON. The form that a client wants goes
// before those it takes.
func (h *Headers) takesBinary() bool {
	if h.Wanted != (Formats{}) {
		return h.Wanted.Binary
	}
	return h.Supported.Binary && !h.Supported.Text
}

// textOf returns the text of binary JSON, of at most so many bytes. The nesting is bounded by all that a
// request may lay around a document; how deep a document itself may be is checked with the document.
func textOf(body []byte, limit int) ([]byte, error) {
	lim := jsondoc.Limits{MaxBytes: limit, MaxDepth: jsondoc.DefaultMaxDepth + patchDepth + batchDepth}
	text, err := jsonbinary.AppendText(make([]byte, 0, 2*len(body)), body, lim)
	var size *jsondoc.SizeError
	switch {
	case errors.As(err, &size):
		return nil, TooLarge()
	case err != nil:
		return nil, BadRequest("The input content is invalid: " + err.Error())
	}
	return text, nil
}

// DecodeBody turns a body that came as binary JSON into text. Serve does so by itself.
func (r *Request) DecodeBody() (err error) {
	if jsonbinary.Is(r.Body) {
		r.Body, err = textOf(r.Body, r.Kind.MaxBody())
	}
	return err
}

// sendFormat answers with a body of items, or of others, in the form of JSON that the client takes for items.
// A read of a feed is text, whatever the client asks for, as it is in the service.
func (c *call) sendFormat(status int, body *buffer) error {
	if !c.in.takesBinary() || c.req.Kind != KindItem || c.req.Feed && c.req.Operation == OpRead {
		return c.give(status, body)
	}
	c.beside = cap(body.b)
	out := borrow()
	out.b = jsonbinary.AppendBinary(out.b, jsondoc.Of(body.b))
	body.release()
	return c.give(status, out)
}
