package httpapi

import (
	"net/http"
	"net/url"
	"runtime"
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

// answer sends the response, head and body.
func (c *call) answer() {
	more := c.ans.Status >= http.StatusBadRequest && c.takeBody()
	c.deliver()
	if more {
		c.linger()
	}
}

// deliver sends the response to a request whose body has been read or is empty. Every response has a
// Content-Length, since some clients drop the text of an error that has none.
func (c *call) deliver() {
	c.setHead()
	status, body, w := c.ans.Status, c.ans.Body, c.w
	if status == http.StatusOK && c.r.Method == http.MethodGet && c.target.kind != cosmos.KindNone {
		c.setLocation()
	}
	if body == nil {
		if status != http.StatusNoContent && status != http.StatusNotModified {
			c.set("Content-Length", "0")
		}
		c.passHead()
		w.WriteHeader(status)
		return
	}
	if _, other := w.Header()["Content-Type"]; !other {
		kind := echo.MIMEApplicationJSON
		if c.ans.Rows {
			kind = echo.MIMEOctetStream
		}
		c.set("Content-Type", kind)
	}
	var length [20]byte
	c.set("Content-Length", c.texts.keep(strconv.AppendInt(length[:0], int64(len(body)), 10)))
	c.passHead()
	w.WriteHeader(status)
	c.write(body)
}

// setHead sets the headers that describe the result of the operation. Header names are sent as they are
// written here.
func (c *call) setHead() {
	a := &c.ans
	if a.Charge > 0 {
		var text [24]byte
		c.set("x-ms-request-charge", c.texts.keep(strconv.AppendFloat(text[:0], a.Charge, 'f', -1, 64)))
	} else {
		c.set("x-ms-request-charge", "1") // tests of the clients expect it in every response
	}
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
		written := c.texts.keep(strconv.AppendUint(text[:0], a.ItemLSN, 10))
		c.set("x-ms-item-lsn", written)
		c.set("x-ms-cosmos-item-llsn", written)
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

// setSession sets the session token, {range}:{version}#{lsn} without region part, and the LSN headers.
func (c *call) setSession() {
	a := &c.ans
	var text [64]byte
	token, lsn := a.AppendSessionToken(append(append(text[:0], a.Range...), ':'))
	value := c.texts.keep(token)
	c.set("x-ms-session-token", value)
	c.set("x-ms-documentdb-partitionkeyrangeid", a.Range)
	reached := value[lsn:]
	c.set("lsn", reached)
	c.set("x-ms-cosmos-llsn", reached)
	c.set("x-ms-global-committed-lsn", reached)
	c.set("x-ms-quorum-acked-lsn", reached)
	c.set("x-ms-last-state-change-utc", c.srv.since)
}

// setOwner sets the headers with the path of the resource's owner: one by rid, under which clients store
// session tokens, and one by name.
func (c *call) setOwner() {
	a := &c.ans
	if a.OwnerRID != "" {
		c.set("x-ms-content-path", a.OwnerRID)
	}
	var text [128]byte
	path := append(append(text[:0], "dbs/"...), url.PathEscape(a.OwnerDatabase)...)
	if a.OwnerContainer != "" {
		path = append(append(path, "/colls/"...), url.PathEscape(a.OwnerContainer)...)
	}
	c.set("x-ms-alt-content-path", c.texts.keep(path))
}

// setRareHead sets those headers of the result that few responses have.
func (c *call) setRareHead() {
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

// setDuration sets the request's duration in milliseconds. It is never 0, because clients treat 0 as
// unknown.
func (c *call) setDuration() {
	c.took = c.srv.opt.Wall.Now().Sub(c.began)
	took := max(c.took.Microseconds(), 1)
	var text [24]byte
	micros := took % 1000
	value := append(strconv.AppendInt(text[:0], took/1000, 10), '.')
	value = append(value, byte('0'+micros/100), byte('0'+micros/10%10), byte('0'+micros%10))
	c.set("x-ms-request-duration-ms", c.texts.keep(value))
}

// setLocation sets content-location to the URL of the resource that was read.
func (c *call) setLocation() {
	r := c.r
	path, _ := requestPath(r)
	var text [256]byte
	address := append(c.srv.appendEndpoint(text[:0], r), strings.TrimLeft(path, "/")...)
	c.set("content-location", c.texts.keep(address))
}

// write writes a body. For a large body it sets a new deadline for each piece. So the connection of a client
// that does not read is closed soon, but that of a slow reader is not.
func (c *call) write(body []byte) {
	w := c.w
	if len(body) <= largeAnswer {
		_, _ = w.Write(body) // a failure means that the client has disconnected
		return
	}
	control := http.NewResponseController(w.Writer)
	for len(body) > 0 {
		n := min(len(body), writeChunk)
		// fails only if there is no connection
		_ = control.SetWriteDeadline(ttl.Real{}.Now().Add(stallTimeout))
		if _, err := w.Write(body[:n]); err != nil {
			return
		}
		if body = body[n:]; len(body) > 0 {
			runtime.Gosched() // short requests go first
		}
	}
}
