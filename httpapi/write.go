package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/ttl"
)

const (
	largeAnswer  = 64 << 10         // bytes; a larger response is written in pieces
	writeChunk   = 64 << 10         // bytes of a large response that are written under one deadline
	stallTimeout = 10 * time.Second // time limit for each of these pieces
)

// answer sends the response, head and body. If the request failed, the rest of its body is read first or
// afterwards.
func (c *activeRequest) answer() {
	more := c.ans.Status >= http.StatusBadRequest && c.takeBody()
	c.deliver()
	if more {
		c.linger()
	}
}

// deliver sends the response to a request whose body has been read or is empty. Every response has a
// Content-Length, since some clients drop the text of an error that has none.
func (c *activeRequest) deliver() {
	if c.isFrame() {
		c.sendReply()
		return
	}
	_, typed := c.w.Header()["Content-Type"]
	c.setWholeHead(typed)
	c.passHead()
	c.w.WriteHeader(c.ans.Status)
	if c.ans.Body != nil {
		c.write(c.ans.Body)
	}
}

// setWholeHead sets all headers of a response whose body is complete in memory. typed says that the
// content type has been set already.
func (c *activeRequest) setWholeHead(typed bool) {
	c.setHead()
	status, body := c.ans.Status, c.ans.Body
	if status == http.StatusOK && c.method == http.MethodGet && c.target.kind != cosmos.KindNone {
		c.setLocation()
	}
	if body == nil {
		switch {
		case status == http.StatusNotModified:
		case status != http.StatusNoContent:
			c.set("Content-Length", "0")
		case c.target.kind != cosmos.KindNone: // some clients parse every body, even an empty one
			c.set("Content-Type", echo.MIMEApplicationJSON)
		}
		return
	}
	if !typed {
		kind := echo.MIMEApplicationJSON
		if c.ans.Rows {
			kind = echo.MIMEOctetStream
		}
		c.set("Content-Type", kind)
	}
	var length [20]byte
	c.setBytes("Content-Length", strconv.AppendInt(length[:0], int64(len(body)), 10))
}

// setHead sets the headers that describe the result of the operation. Header names are sent as they are
// written here.
func (c *activeRequest) setHead() {
	a := &c.ans
	var text [24]byte
	c.setBytes("x-ms-request-charge", strconv.AppendFloat(text[:0], c.charge(), 'f', -1, 64))
	c.setDuration()
	if a.Range != "" {
		c.setSession()
	}
	if a.OwnerDatabase != "" {
		c.setOwner()
	}
	if a.ETag != "" {
		c.set("etag", a.ETag)
	}
	if a.ItemLSN != 0 {
		var text [20]byte
		written := strconv.AppendUint(text[:0], a.ItemLSN, 10)
		c.setBytes("x-ms-item-lsn", written)
		c.setBytes("x-ms-cosmos-item-llsn", written)
	}
	if a.Counted {
		c.set("x-ms-item-count", strconv.Itoa(a.Count))
	}
	if a.Continuation != "" {
		c.set("x-ms-continuation", a.Continuation)
	}
	if a.Substatus != 0 {
		c.set("x-ms-substatus", strconv.Itoa(a.Substatus))
	}
	c.setRareHead()
}

// charge returns the charge in RU. Tests of the clients expect one in every response.
func (c *activeRequest) charge() float64 {
	if c.ans.Charge > 0 {
		return c.ans.Charge
	}
	return 1
}

// setSession sets the session token, {range}:{version}#{lsn} without region part, and the LSN headers.
func (c *activeRequest) setSession() {
	a := &c.ans
	var text [64]byte
	token, lsn := a.AppendSessionToken(append(append(text[:0], a.Range...), ':'))
	c.setBytes("x-ms-session-token", token)
	c.set("x-ms-documentdb-partitionkeyrangeid", a.Range)
	reached := token[lsn:]
	c.setBytes("lsn", reached)
	c.setBytes("x-ms-cosmos-llsn", reached)
	c.setBytes("x-ms-global-committed-lsn", reached)
	c.setBytes("x-ms-quorum-acked-lsn", reached)
	c.set("x-ms-last-state-change-utc", c.srv.since)
}

// setOwner sets the headers with the path of the resource's owner: one by rid, under which clients store
// session tokens, and one by name.
func (c *activeRequest) setOwner() {
	if c.ans.OwnerRID != "" {
		c.set("x-ms-content-path", c.ans.OwnerRID)
	}
	var text [128]byte
	c.setBytes("x-ms-alt-content-path", c.appendOwnerPath(text[:0]))
}

// appendOwnerPath appends the path, by names, of the resource that contains the addressed one: dbs/D/colls/C
// for an item.
func (c *activeRequest) appendOwnerPath(dst []byte) []byte {
	a := &c.ans
	path := append(append(dst, "dbs/"...), url.PathEscape(a.OwnerDatabase)...)
	if a.OwnerContainer != "" {
		path = append(append(path, "/colls/"...), url.PathEscape(a.OwnerContainer)...)
	}
	return path
}

// setRareHead sets the headers of an operation's result that few responses have, such as query metrics and
// quota.
func (c *activeRequest) setRareHead() {
	a := &c.ans
	for _, text := range [...]struct{ name, value string }{
		{"x-ms-documentdb-query-metrics", a.QueryMetrics}, {"x-ms-cosmos-index-utilization",
			a.IndexUtilization},
		{"x-ms-cosmos-query-execution-info", a.ExecutionInfo}, {"x-ms-resource-quota",
			a.Quota}, {"x-ms-resource-usage", a.Usage},
	} {
		if text.value != "" {
			c.set(text.name, text.value)
		}
	}
	if a.Direct {
		c.set("x-ms-cosmos-query-requiresdistribution", "False")
	}
	if a.Logged {
		c.set("x-ms-documentdb-script-log-results", a.ScriptLog)
	}
	if a.RetryAfter > 0 {
		c.set("x-ms-retry-after-ms", strconv.FormatInt(int64(a.RetryAfter/time.Millisecond), 10))
	}
	if a.HasProgress {
		c.set("x-ms-documentdb-collection-index-transformation-progress", strconv.Itoa(a.IndexProgress))
	}
	if a.SharesThroughput {
		c.set("x-ms-share-throughput", "true")
	}
	if a.MinThroughput > 0 {
		c.set("x-ms-offer-replace-pending", strconv.FormatBool(a.ReplacePending))
		c.set("x-ms-cosmos-min-throughput", strconv.Itoa(a.MinThroughput))
	}
	if a.Expiry != nil {
		c.setExpiry(*a.Expiry)
	}
	c.setLint(a.Lint)
	if c.req.Kind == cosmos.KindAccount && a.Status == http.StatusOK {
		for _, name := range []string{"x-ms-media-storage-usage-mb", "x-ms-databaseaccount-consumed-mb",
			"x-ms-databaseaccount-reserved-mb",
			"x-ms-databaseaccount-provisioned-mb"} {
			c.set(name, "0")
		}
		c.set("x-ms-max-media-storage-usage-mb", "10240")
	}
}

// setDuration sets the response header x-ms-request-duration-ms: how long the request has taken so far, in
// milliseconds with three decimals.
func (c *activeRequest) setDuration() {
	took := c.duration().Microseconds()
	var text [24]byte
	micros := took % 1000
	value := append(strconv.AppendInt(text[:0], took/1000, 10), '.')
	value = append(value, byte('0'+micros/100), byte('0'+micros/10%10), byte('0'+micros%10))
	c.setBytes("x-ms-request-duration-ms", value)
}

// duration returns the request's duration until its response. It is never 0, because clients treat 0 as
// unknown.
func (c *activeRequest) duration() time.Duration {
	if c.took == 0 {
		c.took = c.srv.opt.Wall.Now().Sub(c.began)
	}
	return max(c.took, time.Microsecond)
}

// setLocation sets content-location to the URL of the resource that was read.
func (c *activeRequest) setLocation() {
	var text [256]byte
	address := append(c.appendEndpoint(text[:0]), strings.TrimLeft(c.path, "/")...)
	c.setBytes("content-location", address)
}

// write writes a body. For a large body it sets a new deadline for each piece. So the connection of a client
// that does not read is closed soon, but that of a slow reader is not.
func (c *activeRequest) write(body []byte) {
	w := c.w
	if len(body) <= largeAnswer {
		_, _ = w.Write(body) // a failure means that the client has disconnected
		return
	}
	control := http.NewResponseController(w.Writer)
	for len(body) > 0 {
		n := min(len(body), writeChunk)
		// fails only if there is no connection
		_ = control.SetWriteDeadline(ttl.SystemClock{}.Now().Add(stallTimeout))
		turn := c.srv.db.TakeTurn(c.ctx()) // short requests go first
		if turn == nil {
			return
		}
		_, err := w.Write(body[:n])
		turn.Leave()
		if err != nil {
			return
		}
		body = body[n:]
	}
}
