package cosmos

import (
	"errors"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/jsondoc/jsonbinary"
)

// Clients may send items as binary JSON. The first byte of a body shows whether it is binary; the content
// type does not. A response is binary JSON if the request's headers ask for it and do not also accept text,
// because text is cheaper to make. Read feeds are always text.

// AcceptedJSONEncodings is the set of JSON encodings that a client accepts in the body of a response.
type AcceptedJSONEncodings struct{ Text, Binary bool }

// takesBinary reports whether the items in the response must be binary JSON. The header for the wanted
// format takes precedence over the header for supported ones.
func (h *RequestHeaders) takesBinary() bool {
	if h.Wanted != (AcceptedJSONEncodings{}) {
		return h.Wanted.Binary
	}
	return h.Supported.Binary && !h.Supported.Text
}

// textOf converts binary JSON to text of at most limit bytes. The maximum depth includes the levels that a
// patch in a batch adds around a document; the depth of the document itself is checked later.
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

// DecodeBody converts a body in binary JSON to text. Serve calls it.
func (r *Request) DecodeBody() (err error) {
	if jsonbinary.Is(r.Body) {
		r.Body, err = textOf(r.Body, r.Kind.MaxBody())
	}
	return err
}

// sendFormat responds with a body. Items are converted to binary JSON if the client asks for it. As in
// Cosmos DB, a read feed of items is always text.
func (c *requestInProgress) sendFormat(status int, body *bodyBuffer) error {
	if !c.in.takesBinary() || c.req.Kind != KindItem || c.req.Feed && c.req.Operation == OpRead {
		return c.sendBuffer(status, body)
	}
	c.sourceBytes = cap(body.b)
	out := borrow()
	out.b = jsonbinary.AppendBinary(out.b, jsondoc.Of(body.b))
	body.release()
	return c.sendBuffer(status, out)
}
