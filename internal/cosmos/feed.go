package cosmos

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// Feeds of databases, containers, offers and partition key ranges are short lists in the order of creation.
// They are paged without any state here: the continuation names the position of the last row that was looked
// at, and the next page begins with the first row after it, whatever was deleted in between. A position is
// text whose order is the order of the rows.

// feed is such a list.
type feed[T any] struct {
	key      string         // name of the array in the body
	owner    string         // rid of the parent, "" for the account's own
	rows     []T            // in order of position
	position func(T) string // hexadecimal; a number of 64 bits at most where the rows can be queried
	render   func(dst []byte, row T) []byte
}

// sendFeed answers with one page of the rows.
func sendFeed[T any](c *call, f feed[T]) error {
	after, err := f.resume(c.in.Continuation)
	if err != nil {
		return err
	}
	limit := store.PageLimit(c.in.MaxItems)
	out := newPage(f.owner, f.key, 0)
	rest := f.rows[after:]
	for len(rest) > 0 && out.n < limit && len(out.b) < store.MaxPageBytes {
		out.row()
		out.b = f.render(out.b, rest[0])
		after, rest = after+1, rest[1:]
	}
	if len(rest) > 0 {
		c.out.Continuation = f.scope() + ":" + f.position(f.rows[after-1])
	}
	return c.sendPage(out)
}

// scope names the list: its continuations are good for it alone.
func (f *feed[T]) scope() string {
	if f.owner == "" {
		return f.key
	}
	return f.key + "/" + f.owner
}

// resume finds the index of the first row after the continuation.
func (f *feed[T]) resume(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	after, ok := strings.CutPrefix(token, f.scope()+":")
	if !ok || strings.Trim(after, "0123456789ABCDEF") != "" {
		return 0, BadRequest("Invalid Continuation Token")
	}
	compare := func(row T, at string) int { return strings.Compare(f.position(row), at) }
	i, found := slices.BinarySearchFunc(f.rows, after, compare)
	if found {
		i++
	}
	return i, nil
}

// ridPosition is the number in the rid of a database, a container or an offer, which grows with every one
// that is made. A container's lies in its last four bytes, most significant first; the others are the other
// way round.
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

// systemRoom is about how many bytes an item's system properties take, or the frame of a page, at most.
const systemRoom = 400

// page is the body of a list under construction: {"_rid":"...","Documents":[...],"_count":n}. Its memory is
// borrowed until it is sent.
type page struct {
	*buffer
	n int // rows
}

// size is about how long its rows will be: a large body that grows would take a part more than it needs until
// it is written.
func newPage(owner, key string, size int) *page {
	p := &page{buffer: borrow()}
	p.b = slices.Grow(p.b, size+len(owner)+systemRoom)
	p.b = append(append(p.b, `{"_rid":"`...), owner...)
	p.b = append(append(p.b, `","`...), key...)
	p.b = append(p.b, `":[`...)
	return p
}

// row begins a row, whose text is then appended to the buffer.
func (p *page) row() {
	if p.n > 0 {
		p.b = append(p.b, ',')
	}
	p.n++
}

// sendPage closes the body and answers with it: as text, unless it is a query's, since Cosmos DB answers read
// feeds in no other form.
func (c *call) sendPage(p *page) error {
	p.b = append(p.b, `],"_count":`...)
	p.b = append(strconv.AppendInt(p.b, int64(p.n), 10), '}')
	c.out.setItemCount(p.n)
	if op := c.req.Operation; op == OpRead || op == OpChangeFeed {
		return c.give(StatusOK, p.buffer)
	}
	return c.sendFormat(StatusOK, p.buffer)
}

// decodeKept is decodeObject for what holds documents or values of theirs: it returns the object as it would
// be kept (see jsondoc.Compact).
func decodeKept(body []byte) (jsondoc.Value, error) {
	text, err := jsondoc.Compact(body, jsondoc.Limits{})
	if err != nil {
		return jsondoc.Value{}, BadRequest("The input content is invalid: " + err.Error())
	}
	return decodeObject(text)
}

// decodeObject checks that a request's body is a JSON object.
func decodeObject(body []byte) (jsondoc.Value, error) {
	if err := jsondoc.Valid(body, jsondoc.Limits{}); err != nil {
		return jsondoc.Value{}, BadRequest("The input content is invalid: " + err.Error())
	}
	v := jsondoc.Of(body)
	if v.Kind() != jsondoc.Object {
		return v, BadRequest("The request body must be a JSON object.")
	}
	return v, nil
}
