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
// Paging is stateless: the continuation contains the position of the last row returned, and the next page
// begins with the first row after it, even if rows have been deleted since. Positions are strings that sort
// in the order of the rows.

// resourceFeed is a list of a few resources, such as the databases of the account, that is returned in pages.
type resourceFeed[T any] struct {
	key      string         // name of the array in the body
	owner    string         // rid of the parent; empty for the account's feeds
	rows     []T            // in order of position
	position func(T) string // hexadecimal; at most 64 bits if rows can be queried
	render   func(dst []byte, row T) []byte
}

// sendFeed responds with one page of the rows.
func sendFeed[T any](c *requestInProgress, f resourceFeed[T]) error {
	after, err := f.resume(c.in.Continuation)
	if err != nil {
		return err
	}
	limit := store.PageLimit(c.in.MaxItems)
	out := c.newPage(f.owner, f.key, 0)
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

// scope returns the name of the list, which its continuation tokens contain, so that a token of another list
// is refused.
func (f *resourceFeed[T]) scope() string {
	if f.owner == "" {
		return f.key
	}
	return f.key + "/" + f.owner
}

// resume returns the index of the first row of the page for a continuation token. It returns a 400 if the
// token is malformed or comes from another list.
func (f *resourceFeed[T]) resume(token string) (int, error) {
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

// ridPosition returns, as hexadecimal text that sorts in the order of creation, the number in the rid of a
// database, a container or an offer. A container's number is in the last four bytes, big-endian; the others
// are little-endian.
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

// systemRoom is an upper bound, in bytes, of the size of an item's system properties, or of the text around
// the rows of a page.
const systemRoom = 400

// listBody is the body of a list while it is made: {"_rid":"...","Documents":[...],"_count":n}. Its buffer is
// pooled until the page is sent.
type listBody struct {
	*bodyBuffer
	n    int // rows
	call *requestInProgress
	turn *store.LargeResponsePermit // of a large page; nil: none
	next int                        // length of the buffer at which the next turn begins
}

// pieceSize is the number of bytes of a large page that are made at a time. Between two pieces other
// requests may use the processor: see store.DB.TakeTurn.
const pieceSize = 256 << 10

// newPage starts the body of a list, {"_rid": owner, key: [...]}, up to its first row. size is the
// approximate length of all rows in bytes, for which space is reserved, so that the buffer need not grow.
func (c *requestInProgress) newPage(owner, key string, size int) *listBody {
	var turn *store.LargeResponsePermit
	if size >= pieceSize {
		turn = c.srv.db.TakeTurn(c.ctx)
	}
	p := c.startPage(owner, key)
	p.turn = turn
	p.grow(size)
	return p
}

// startPage starts the body of a list of unknown size, {"_rid": owner, key: [...]}, up to its first row.
func (c *requestInProgress) startPage(owner, key string) *listBody {
	p := &listBody{bodyBuffer: borrow(), call: c, next: pieceSize}
	p.grow(len(owner) + systemRoom)
	p.b = append(append(p.b, `{"_rid":"`...), owner...)
	p.b = append(append(p.b, `","`...), key...)
	p.b = append(p.b, `":[`...)
	return p
}

// row starts a row. The caller then appends the text of the row to the buffer.
func (p *listBody) row() {
	p.comma()
	if len(p.b) >= p.next {
		p.turn.Leave()
		p.turn = p.call.srv.db.TakeTurn(p.call.ctx)
		p.next = len(p.b) + pieceSize
	}
}

func (p *listBody) comma() {
	if p.n > 0 {
		p.b = append(p.b, ',')
	}
	p.n++
}

// sendPage completes the page and responds with it. The result of a query may be binary; a read feed is
// always text, as in Cosmos DB.
func (c *requestInProgress) sendPage(p *listBody) error {
	p.turn.Leave()
	if err := c.ctx.Err(); err != nil { // the turns may not have been taken
		p.release()
		return err
	}
	p.b = append(p.b, `],"_count":`...)
	p.b = append(strconv.AppendInt(p.b, int64(p.n), 10), '}')
	c.out.setItemCount(p.n)
	if op := c.req.Operation; op == OpRead || op == OpChangeFeed {
		return c.sendBuffer(StatusOK, p.bodyBuffer)
	}
	return c.sendFormat(StatusOK, p.bodyBuffer)
}

// decodeStored returns the request's body, which must be a JSON object, in the form in which documents are
// stored (see jsondoc.Compact).
func decodeStored(body []byte) (jsondoc.Value, error) {
	text, err := jsondoc.Compact(body, jsondoc.Limits{})
	if err != nil {
		return jsondoc.Value{}, BadRequest("The input content is invalid: " + err.Error())
	}
	return decodeObject(text)
}

// decodeObject returns the request's body, which must be a JSON object.
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
