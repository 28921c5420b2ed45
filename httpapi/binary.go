package httpapi

import (
	"errors"
	"net/http"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/doc/jsonbinary"
)

// Clients send items as binary JSON where they like; its first byte tells it from text, and a content type
// does not. They get it where their headers ask for it and do not take text as well: then text is as good,
// and cheaper to make.

// formats are the forms of JSON that a client takes in the body of an answer.
type formats struct{ text, binary bool }

// parseSupportedFormats reads x-ms-cosmos-supported-serialization-formats, a list. Forms that are not known
// here are passed over.
func parseSupportedFormats(list string) formats {
	return formats{text: hasElement(list, "JsonText"), binary: hasElement(list, "CosmosBinary")}
}

// parseContentFormat reads x-ms-documentdb-content-serialization-format, the one form that a client wants.
func parseContentFormat(value string) (formats, error) {
	f := parseSupportedFormats(value)
	if f.text == f.binary {
		return f, badRequest("The serialization format '" + value + "' is not supported by this server: JsonText and CosmosBinary are.")
	}
	return f, nil
}

// takesBinary tells whether the answer's items are to be binary JSON. The form that a client wants goes
// before those it takes.
func (h *reqHeaders) takesBinary() bool {
	if h.wanted != (formats{}) {
		return h.wanted.binary
	}
	return h.supported.binary && !h.supported.text
}

// textOf returns the text of binary JSON, of at most so many bytes. The nesting is bounded by all that a
// request may lay around a document; how deep a document itself may be is checked with the document.
func textOf(body []byte, limit int) ([]byte, error) {
	lim := doc.Limits{MaxBytes: limit, MaxDepth: doc.DefaultMaxDepth + patchDepth + batchDepth}
	text, err := jsonbinary.AppendText(make([]byte, 0, 2*len(body)), body, lim)
	var size *doc.SizeError
	switch {
	case errors.As(err, &size):
		return nil, wireErr(http.StatusRequestEntityTooLarge, 0, tooLargeText)
	case err != nil:
		return nil, badRequest("The input content is invalid: " + err.Error())
	}
	return text, nil
}

// sendFormat answers with a body of items, or of others, in the form of JSON that the client takes for items.
// The body may be reused when it has returned.
func (c *call) sendFormat(status int, body []byte) error {
	if !c.in.takesBinary() || c.target.kind != kindItem {
		return c.json(status, body)
	}
	c.beside = cap(body)
	out := borrow()
	defer out.release()
	out.b = jsonbinary.AppendBinary(out.b, doc.Of(body))
	return c.json(status, out.b)
}
