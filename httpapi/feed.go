package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
)

// Feeds of databases, containers, offers and partition key ranges are short lists in the order of creation. They
// are paged without any state here: the continuation names the position of the last row that was looked at,
// and the next page begins with the first row after it, whatever was deleted in between. A position is text
// whose order is the order of the rows.

// feed is such a list.
type feed[T any] struct {
	key      string         // name of the array in the body
	owner    string         // rid of the parent, "" for the account's own
	rows     []T            // in order of position
	position func(T) string // hexadecimal
	render   func(dst []byte, row T) []byte
}

const (
	defaultPage = 100     // rows of a page when the client does not say
	maxPage     = 1000    // rows of a page when the client leaves it to the server
	maxPageSize = 4 << 20 // bytes after which a page is closed
)

// sendFeed answers with one page: of all rows, or of those that filter accepts.
func sendFeed[T any](c *call, f feed[T], filter *query.Simple) error {
	began := c.srv.opt.Wall.Now()
	after, err := f.resume(c.in.continuation)
	if err != nil {
		return err
	}
	limit := pageLimit(c.in.maxItems)
	out := newPage(f.owner, f.key)
	rest := f.rows[after:]
	m := queryMetrics{}
	for len(rest) > 0 && out.n < limit && len(out.b) < maxPageSize {
		start := out.begin()
		out.b = f.render(out.b, rest[0])
		m.retrieved, m.retrievedBytes = m.retrieved+1, m.retrievedBytes+len(out.b)-start
		if filter == nil || filter.Match(out.b[start:]) {
			out.keep()
		}
		after, rest = after+1, rest[1:]
	}
	if f.more(rest, filter) {
		c.setContinuation(f.key + ":" + f.position(f.rows[after-1]))
	}
	if filter != nil {
		m.elapsed = c.srv.opt.Wall.Now().Sub(began)
		c.setQueryMetrics(m, out)
	}
	return c.sendPage(out)
}

// more tells whether a further page would hold a row.
func (f *feed[T]) more(rest []T, filter *query.Simple) bool {
	if filter == nil {
		return len(rest) > 0
	}
	var buf []byte
	return slices.ContainsFunc(rest, func(row T) bool {
		buf = f.render(buf[:0], row)
		return filter.Match(buf)
	})
}

func pageLimit(asked int) int {
	switch {
	case asked == 0:
		return defaultPage
	case asked < 0:
		return maxPage
	}
	return asked
}

// resume finds the index of the first row after the continuation.
func (f *feed[T]) resume(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	after, ok := strings.CutPrefix(token, f.key+":")
	if !ok || strings.Trim(after, "0123456789ABCDEF") != "" {
		return 0, badRequest("Invalid Continuation Token")
	}
	i, found := slices.BinarySearchFunc(f.rows, after, func(row T, at string) int { return strings.Compare(f.position(row), at) })
	if found {
		i++
	}
	return i, nil
}

// ridPosition is the number in the rid of a database, a container or an offer, which grows with every one
// that is made. A container's lies in its last four bytes, most significant first; the others are the other way round.
func ridPosition(rid string) string {
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(rid, "-", "/"))
	if err != nil {
		return ""
	}
	if len(b) == 8 {
		return fmt.Sprintf("%08X", binary.BigEndian.Uint32(b[4:]))
	}
	slices.Reverse(b)
	return fmt.Sprintf("%0*X", 2*len(b), b)
}

// page is the body of a list under construction: {"_rid":"...","Documents":[...],"_count":n}. Its memory is
// borrowed until it is sent.
type page struct {
	*buffer
	n     int
	first int // where the first row begins
	kept  int // where the rows end that are kept
}

func newPage(owner, key string) *page {
	p := &page{buffer: borrow()}
	p.b = append(append(p.b, `{"_rid":"`...), owner...)
	p.b = append(append(p.b, `","`...), key...)
	p.b = append(p.b, `":[`...)
	p.first = len(p.b)
	p.kept = p.first
	return p
}

// begin drops a row that was rendered and not kept, and returns where the next one starts.
func (p *page) begin() int {
	p.b = p.b[:p.kept]
	if p.n > 0 {
		p.b = append(p.b, ',')
	}
	return len(p.b)
}

// keep makes what was rendered since begin a row of the page.
func (p *page) keep() { p.n, p.kept = p.n+1, len(p.b) }

// size is the bytes of the rows.
func (p *page) size() int { return p.kept - p.first }

// sendPage closes the body and answers with it.
func (c *call) sendPage(p *page) error {
	defer p.release()
	p.b = append(p.b[:p.kept], `],"_count":`...)
	p.b = append(strconv.AppendInt(p.b, int64(p.n), 10), '}')
	c.setItemCount(p.n)
	return c.json(http.StatusOK, p.b)
}

// queryMetrics is what a query took, as far as it was measured.
type queryMetrics struct {
	elapsed        time.Duration
	retrieved      int // rows looked at; negative: not known
	retrievedBytes int
}

// setQueryMetrics adds the header that tells what a query took, for clients that ask for it: names and values,
// which clients split at ';' and '='. What was not measured is left out.
func (c *call) setQueryMetrics(m queryMetrics, p *page) {
	if !c.in.queryMetrics {
		return
	}
	text := fmt.Sprintf("totalExecutionTimeInMs=%.2f;outputDocumentCount=%d;outputDocumentSize=%d",
		float64(m.elapsed)/float64(time.Millisecond), p.n, p.size())
	if m.retrieved >= 0 {
		text += fmt.Sprintf(";retrievedDocumentCount=%d;retrievedDocumentSize=%d", m.retrieved, m.retrievedBytes)
	}
	c.set("X-Ms-Documentdb-Query-Metrics", text)
}

// decodeQuery reads the body of a query: {"query": "...", "parameters": [{"name": "@p", "value": ...}]}, or the
// bare text with the content type application/sql. Members that are not known are ignored: clients send some.
func decodeQuery(c *call) (text string, params []store.Parameter, err error) {
	if c.in.contentType == "application/sql" {
		if !utf8.Valid(c.body) {
			return "", nil, badRequest("The query is not valid UTF-8.")
		}
		return string(c.body), nil, nil
	}
	body, err := decodeObject(c.body)
	if err != nil {
		return "", nil, err
	}
	q := body.Member("query")
	if q.Kind() != doc.String {
		return "", nil, badRequest("The input content is invalid because the required property 'query' is missing or is not a string.")
	}
	params, err = decodeParameters(body.Member("parameters"))
	return q.Str(), params, err
}

func decodeParameters(list doc.Value) (params []store.Parameter, err error) {
	if k := list.Kind(); k != doc.Array && k != doc.Null && k != doc.Undefined {
		return nil, badRequest("The 'parameters' of a query must be an array.")
	}
	list.Each(func(_ string, p doc.Value) bool {
		name := p.Member("name").Str()
		switch {
		case len(name) < 2 || name[0] != '@':
			err = badRequest("Each parameter of a query needs a 'name' that begins with '@'.")
		case slices.ContainsFunc(params, func(o store.Parameter) bool { return o.Name == name }):
			err = badRequest("The query parameter '" + name + "' is given twice.")
		}
		params = append(params, store.Parameter{Name: name, Value: p.Member("value")})
		return err == nil
	})
	return params, err
}

// decodeFilter reads a query over resources other than items.
func decodeFilter(c *call) (*query.Simple, error) {
	text, params, err := decodeQuery(c)
	if err != nil {
		return nil, err
	}
	values := make(map[string]doc.Value, len(params))
	for _, p := range params {
		values[p.Name] = p.Value
	}
	q, err := query.ParseSimple(text, values)
	if err != nil {
		return nil, badRequest(err.Error())
	}
	return q, nil
}

// decodeObject checks that a request's body is a JSON object.
func decodeObject(body []byte) (doc.Value, error) {
	if err := doc.Valid(body, doc.Limits{}); err != nil {
		return doc.Value{}, badRequest("The input content is invalid: " + err.Error())
	}
	v := doc.Of(body)
	if v.Kind() != doc.Object {
		return v, badRequest("The request body must be a JSON object.")
	}
	return v, nil
}
