package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/doc/jsonbinary"
	"github.com/mayflydb/mayfly/store"
)

// call is one request on its way through the server: an echo context that knows Cosmos DB's protocol.
type call struct {
	echo.Context
	srv      *Server
	target   target
	in       reqHeaders
	activity string // GUID of this request, in every answer and in the log
	body     []byte // the request's body, whole; nil where there is none

	began     time.Time        // by the wall's clock
	headerErr error            // what was wrong with the headers; it waits until the request is known to be authentic
	charged   bool             // a charge was set
	reading   bool             // of the body: the client has leave to send it
	reply     []byte           // what a post-trigger has put in place of the item in the answer; nil: nothing
	held      int64            // bytes of the store's memory
	beside    int              // bytes of the text that the answer's body was made of
	payer     *store.Container // whose throughput the charge is taken from; nil where none is enforced

	// One-element slices of values are the header values set below: one allocation for all of them.
	values [20]string
	used   int
	texts  texts
}

// texts keeps the header values that are made for a request: one allocation for all of them, too.
type texts struct{ b strings.Builder }

// textRoom is how many bytes the values of most answers take.
const textRoom = 256

// keep is string(value).
func (t *texts) keep(value []byte) string {
	if t.b.Cap()-t.b.Len() < len(value) { // what was kept so far goes on in the memory that it has
		t.b = strings.Builder{}
		t.b.Grow(max(textRoom, len(value)))
	}
	at := t.b.Len()
	t.b.Write(value)
	return t.b.String()[at:]
}

// ctx is the context of the request: it ends when the client goes away or the server is shut down by force.
func (c *call) ctx() context.Context { return c.Request().Context() }

// set sets a response header. name is written as it is: in lower case, as the service does, because clients
// look names up by their bytes. Content-Length and Content-Type alone are in Go's canonical form, by which
// net/http finds them.
func (c *call) set(name, value string) {
	c.Response().Header()[name] = c.one(value)
}

// one is a header's value as maps of headers hold it.
func (c *call) one(value string) []string {
	if c.used == len(c.values) {
		return []string{value}
	}
	c.values[c.used] = value
	c.used++
	return c.values[c.used-1 : c.used : c.used]
}

// has tells whether a response header is set; name is spelled as for set.
func (c *call) has(name string) bool {
	_, ok := c.Response().Header()[name]
	return ok
}

// setReceipt says which partition range served, how far it is, and what that cost. The session token has the
// form {range}:{version}#{lsn}, with no region part; the version is -1 or Options.SessionVersion. An empty
// rangeID sets the charge alone; a charge of 0 is the default of 1 RU, since clients' tests want one on every
// answer.
func (c *call) setReceipt(rangeID string, lsn uint64, charge float64) {
	if charge > 0 {
		c.pay(charge)
		var text [24]byte
		c.set("x-ms-request-charge", c.texts.keep(strconv.AppendFloat(text[:0], charge, 'f', -1, 64)))
		c.charged = true
	}
	if rangeID == "" {
		return
	}
	var text [64]byte
	version := int64(-1)
	if c.srv.opt.SessionVersion > 0 {
		version = c.srv.opt.SessionVersion
	}
	token := append(strconv.AppendInt(append(append(text[:0], rangeID...), ':'), version, 10), '#')
	position := len(token)
	token = strconv.AppendUint(token, lsn, 10)
	value := c.texts.keep(token)
	c.set("x-ms-session-token", value)
	c.set("x-ms-documentdb-partitionkeyrangeid", rangeID)
	// There is one replica: what it has, all have.
	h, reached := c.Response().Header(), c.one(value[position:])
	h["lsn"], h["x-ms-cosmos-llsn"], h["x-ms-global-committed-lsn"], h["x-ms-quorum-acked-lsn"] = reached, reached, reached, reached
	h["x-ms-last-state-change-utc"] = c.srv.since
}

// setItemLSN says at which position of its range an item that was read was written.
func (c *call) setItemLSN(lsn uint64) {
	var text [20]byte
	h, written := c.Response().Header(), c.one(c.texts.keep(strconv.AppendUint(text[:0], lsn, 10)))
	h["x-ms-item-lsn"], h["x-ms-cosmos-item-llsn"] = written, written
}

// setDuration says how long the request has taken, in milliseconds: never 0, which clients take for unknown.
func (c *call) setDuration() {
	took := max(c.srv.opt.Wall.Now().Sub(c.began).Microseconds(), 1)
	var text [24]byte
	micros := took % 1000
	value := append(strconv.AppendInt(text[:0], took/1000, 10), '.')
	value = append(value, byte('0'+micros/100), byte('0'+micros/10%10), byte('0'+micros%10))
	c.set("x-ms-request-duration-ms", c.texts.keep(value))
}

// setLocation repeats the address of what was read.
func (c *call) setLocation() {
	r := c.Request()
	path, _ := requestPath(r)
	var text [256]byte
	address := append(c.srv.appendEndpoint(text[:0], r), strings.TrimLeft(path, "/")...)
	c.set("content-location", c.texts.keep(address))
}

// setETag sets the etag, which carries its quotes.
func (c *call) setETag(etag string) {
	if etag != "" {
		c.set("etag", etag)
	}
}

// setItemCount says how many entries a feed's body has.
func (c *call) setItemCount(n int) { c.set("x-ms-item-count", strconv.Itoa(n)) }

// setContinuation says that more pages exist. The header is left out on the last page: a client that is
// sent an empty one asks for ever.
func (c *call) setContinuation(token string) {
	if token != "" {
		c.set("x-ms-continuation", token)
	}
}

// setContainerPaths names the owner of an item: by rid (clients file session tokens under it) and by name.
func (c *call) setContainerPaths(collRID, dbID, collID string) {
	c.set("x-ms-content-path", collRID)
	var text [128]byte
	path := append(append(text[:0], "dbs/"...), url.PathEscape(dbID)...)
	path = append(append(path, "/colls/"...), url.PathEscape(collID)...)
	c.set("x-ms-alt-content-path", c.texts.keep(path))
}

// forgetOwner takes the owner's rid out of an answer that the item is absent: clients would file a session
// token under it.
func (c *call) forgetOwner() { delete(c.Response().Header(), "x-ms-content-path") }

// setDatabasePaths names the owner of a container.
func (c *call) setDatabasePaths(dbRID, dbID string) {
	c.set("x-ms-content-path", dbRID)
	c.set("x-ms-alt-content-path", "dbs/"+url.PathEscape(dbID))
}

// json answers with a body of JSON text. The body may be reused when it has returned.
func (c *call) json(status int, body []byte) error {
	c.deliver(status, body)
	return nil
}

// noContent answers with status and headers alone.
func (c *call) noContent(status int) error {
	c.deliver(status, nil)
	return nil
}

var jsonContentType = []string{echo.MIMEApplicationJSON}

// deliver writes the head and the body. Every body has its length: some clients drop an error's text without.
func (c *call) deliver(status int, body []byte) {
	if status < http.StatusBadRequest && (len(body) > smallAnswer || c.held > 0) {
		c.body = nil
		if err := c.holdAnswer(int64(cap(body) + c.beside)); err != nil {
			c.fail(err)
			return
		}
	}
	if !c.charged {
		c.set("x-ms-request-charge", "1")
	}
	c.setDuration()
	if status == http.StatusOK && c.Request().Method == http.MethodGet && c.target.kind != kindOwn {
		c.setLocation()
	}
	w := c.Response()
	if body == nil {
		if status != http.StatusNoContent && status != http.StatusNotModified {
			c.set("Content-Length", "0")
		}
		w.WriteHeader(status)
		return
	}
	if _, other := w.Header()["Content-Type"]; !other {
		w.Header()["Content-Type"] = jsonContentType
	}
	var length [20]byte
	c.set("Content-Length", c.texts.keep(strconv.AppendInt(length[:0], int64(len(body)), 10)))
	w.WriteHeader(status)
	c.write(body)
}

// Limits of a request's body in bytes. An item may take twice its limit on the wire, because blanks and the
// system properties that clients send back do not count; the store measures what it would keep.
const (
	maxBody     = 2 << 20
	maxItemBody = 2 * maxBody
	maxDrain    = 16 << 20  // what is read of a body that is refused, before the answer
	maxLinger   = 256 << 20 // what is read of it after the answer
)

// readBody reads the body of a request that may have one. What comes as binary JSON is text from here on.
func (c *call) readBody() error {
	if err := c.receiveBody(); err != nil || !jsonbinary.Is(c.body) {
		return err
	}
	var err error
	c.body, err = textOf(c.body, c.bodyLimit())
	return err
}

// bodyLimit is how many bytes the body may have.
func (c *call) bodyLimit() int {
	if c.target.kind == kindItem || c.target.kind == kindOwn { // an import brings items
		return maxItemBody
	}
	return maxBody
}

func (c *call) receiveBody() error {
	r := c.Request()
	if r.Body == nil || r.ContentLength == 0 || r.Method == http.MethodGet ||
		r.Method == http.MethodDelete && c.target.kind != kindOwn {
		return nil
	}
	limit := int64(c.bodyLimit())
	tooLarge := wireErr(http.StatusRequestEntityTooLarge, 0, tooLargeText)
	if r.ContentLength > limit {
		return tooLarge
	}
	c.reading = true
	if r.ContentLength > 0 {
		c.body = make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, c.body); err != nil {
			return badRequest("The request's body ended early.")
		}
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return badRequest("The request's body ended early.")
	}
	if int64(len(body)) > limit {
		return tooLarge
	}
	if len(body) > 0 {
		c.body = body
	}
	return nil
}

// takeBody reads what the client is still sending of a request that is refused: most clients look for the
// answer when they have sent all, and take a connection that is closed before for a fault that passes. more
// says that there is more than that: then the answer goes out first, and linger reads on. Time limits are
// those of any body. A client that waits for leave to send (Expect: 100-continue) is answered at once.
func (c *call) takeBody() (more bool) {
	r := c.Request()
	if r.Body == nil || r.ContentLength == 0 || !c.reading && r.Header.Get("Expect") != "" {
		return false
	}
	if r.ContentLength <= maxDrain {
		if _, err := io.CopyN(io.Discard, r.Body, maxDrain); err != nil {
			return false // it is at its end, or the client is gone
		}
	}
	if r.ProtoMajor != 1 { // HTTP/2 can end a request's body without the connection
		return false
	}
	if err := http.NewResponseController(c.Response().Writer).EnableFullDuplex(); err != nil {
		return false // there is no connection: a test's
	}
	c.set("Connection", "close") // in the form by which net/http finds it
	return true
}

// linger sends the answer and goes on reading, so that it reaches a client that is still sending.
func (c *call) linger() {
	if err := http.NewResponseController(c.Response().Writer).Flush(); err == nil {
		// How much arrives, and whether, changes nothing.
		_, _ = io.CopyN(io.Discard, c.Request().Body, maxLinger)
	}
}
