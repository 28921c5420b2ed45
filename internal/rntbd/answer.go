package rntbd

import (
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tokens of answers.
const (
	answerPayloadPresent = 0x00
	answerContinuation   = 0x03
	answerETag           = 0x04
	answerRetryAfter     = 0x0C
	answerQuota          = 0x0E
	answerUsage          = 0x0F
	answerLSN            = 0x13
	answerItemCount      = 0x14
	answerCharge         = 0x15
	answerOwnerName      = 0x17
	answerOwnerID        = 0x18
	answerQuorumLSN      = 0x1A
	answerSubstatus      = 0x1C
	answerWriteQuorum    = 0x1E
	answerReplicaSet     = 0x1F
	answerRangeID        = 0x21
	answerLog            = 0x25
	answerQueryMetrics   = 0x28
	answerCommittedLSN   = 0x29
	answerReadRegions    = 0x30
	answerItemLSN        = 0x32
	answerRequestID      = 0x35
	answerLocalLSN       = 0x3A
	answerLocalQuorumLSN = 0x3B
	answerItemLocalLSN   = 0x3C
	answerSession        = 0x3E
	answerIndexMetrics   = 0x44
	answerExecutionInfo  = 0x45
	answerDuration       = 0x51
	answerDistribution   = 0x66
)

// texts maps the string tokens of a response to headers.
var texts = []struct {
	id   uint16
	name string
}{
	{answerContinuation, "x-ms-continuation"}, {answerETag, "etag"},
	{answerOwnerName, "x-ms-alt-content-path"}, {answerOwnerID, "x-ms-content-path"},
	{answerQuota, "x-ms-resource-quota"}, {answerUsage, "x-ms-resource-usage"},
	{answerLog, "x-ms-documentdb-script-log-results"},
	{answerQueryMetrics, "x-ms-documentdb-query-metrics"},
	{answerIndexMetrics, "x-ms-cosmos-index-utilization"},
	{answerExecutionInfo, "x-ms-cosmos-query-execution-info"},
}

// inOnePiece is the maximum size, in bytes, of a response that is buffered until its handler returns and
// then sent at once.
const inOnePiece = 16 << 10

// answer is the http.ResponseWriter for a frame. Unless the response is small, it holds the connection
// (outbox.begin) from the first to the last byte that it sends. The body is streamed, so the header
// Content-Length must contain its length.
type answer struct {
	c        *conn
	f        *frame
	h        http.Header // nil: empty
	head     Head        // headers that are not in h; nil: none
	b        []byte      // bytes not sent yet
	rest     int64       // bytes of the body that have not been written yet
	begun    bool        // WriteHeader has been called
	writing  bool        // the connection is held
	later    bool        // a small response may be sent together with the responses to later frames
	headOnly bool        // the body is not sent
	err      error
}

// Head is the set of headers of a response. Get returns the value of a header, or "" if there is none.
type Head interface{ Get(name string) string }

// SetHead sets headers that are used in addition to those in Header. Handlers whose headers are not in a map
// call it before WriteHeader.
func (a *answer) SetHead(h Head) { a.head = h }

// Header returns the headers of the response, which the handler sets: see http.ResponseWriter.
func (a *answer) Header() http.Header {
	if a.h == nil {
		a.h = make(http.Header, 24)
	}
	return a.h
}

// get returns the value of a header. Names are in lower case, as the gateway writes them.
func (a *answer) get(name string) string {
	if a.head != nil {
		return a.head.Get(name)
	}
	if v := a.h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (a *answer) number(name string) int64 {
	n, _ := strconv.ParseInt(a.get(name), 10, 64)
	return n
}

// WriteHeader builds the head of the response: see http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.begun {
		return
	}
	a.begun = true
	if status != http.StatusUnauthorized {
		a.c.trusted.Store(true)
	}
	a.headOnly = a.headOnly || status == http.StatusNoContent || status == http.StatusNotModified
	if !a.headOnly {
		a.rest = a.number("Content-Length")
	}
	b := appendAnswerHead(a.b[:0], status, a.f.activity)
	b = appendByte(b, answerPayloadPresent, byte(min(a.rest, 1)))
	b = appendULong(b, answerRequestID, uint32(a.f.tokens.number(tokenRequestID)))
	b = a.appendPosition(b, status)
	for _, t := range texts {
		if value := a.get(t.name); value != "" {
			b = appendString(b, t.id, value)
		}
	}
	if a.get("x-ms-item-count") != "" {
		b = appendULong(b, answerItemCount, uint32(a.number("x-ms-item-count")))
	}
	if n := a.number("x-ms-substatus"); n != 0 {
		b = appendULong(b, answerSubstatus, uint32(n))
	}
	if n := a.number("x-ms-retry-after-ms"); n != 0 {
		b = appendULong(b, answerRetryAfter, uint32(n))
	}
	if n := a.number("x-ms-item-lsn"); n != 0 {
		b = appendLongLong(appendLongLong(b, answerItemLSN, n), answerItemLocalLSN, n)
	}
	if direct := a.get("x-ms-cosmos-query-requiresdistribution"); direct != "" {
		b = appendByte(b, answerDistribution, byte(strings.Count(direct, "True")))
	}
	charge, _ := strconv.ParseFloat(a.get("x-ms-request-charge"), 64)
	took, _ := strconv.ParseFloat(a.get("x-ms-request-duration-ms"), 64)
	b = appendDouble(appendDouble(b, answerCharge, charge), answerDuration, took)
	if b = endHead(b); a.rest > 0 {
		b = binary.LittleEndian.AppendUint32(b, uint32(a.rest))
	}
	a.b = b
}

// appendPosition appends the position of the replica. All replicas are this server, so its position is also
// that of the quorum. If the handler has set no position, as for a list of databases or a refused request,
// it appends the position in the session token of the request, or the first position.
func (a *answer) appendPosition(b []byte, status int) []byte {
	_, session, _ := strings.Cut(a.get("x-ms-session-token"), ":")
	rangeID, lsn := a.get("x-ms-documentdb-partitionkeyrangeid"), a.number("lsn")
	if session == "" {
		asked := a.f.tokens.text(tokenSession)
		of, known, _ := strings.Cut(asked[strings.LastIndexByte(asked, ',')+1:], ":")
		if session, rangeID = "-1#1", a.f.tokens.text(tokenRangeID); known != "" {
			session = known
			_, at, _ := strings.Cut(known, "#")
			at, _, _ = strings.Cut(at, "#")
			n, _ := strconv.ParseInt(at, 10, 64)
			rangeID, lsn = of, n
		}
	}
	lsn = max(lsn, 1) // the LSN of an empty range; clients refuse 0
	b = appendString(b, answerSession, session)
	if rangeID != "" {
		b = appendString(b, answerRangeID, rangeID)
	}
	for _, id := range []uint16{answerLSN, answerLocalLSN, answerCommittedLSN} {
		b = appendLongLong(b, id, lsn)
	}
	acknowledged := lsn
	if a.wrote(status) { // the primary responds after the quorum has acknowledged all previous writes
		acknowledged = max(lsn-1, 1)
	}
	for _, id := range []uint16{answerQuorumLSN, answerLocalQuorumLSN} {
		b = appendLongLong(b, id, acknowledged)
	}
	b = appendULong(b, answerReplicaSet, 1)
	b = appendULong(b, answerWriteQuorum, 1)
	// without it a client with Strong consistency would wait for them
	return appendULong(b, answerReadRegions, 0)
}

// wrote reports whether the frame is a write that has succeeded.
func (a *answer) wrote(status int) bool {
	return status < http.StatusMultipleChoices && slices.Contains(writes, a.f.operation)
}

// Write writes a part of the body, or buffers it if the response is small: see http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	if a.headOnly || a.err != nil {
		return len(p), a.err
	}
	if int64(len(p)) > a.rest {
		a.err = http.ErrContentLength
		return 0, a.err
	}
	a.rest -= int64(len(p))
	if len(a.b)+len(p) <= inOnePiece {
		a.b = append(a.b, p...)
		return len(p), nil
	}
	a.send()
	if a.err == nil {
		a.err = a.c.out.write(p)
	}
	return len(p), a.err
}

// send writes the buffered bytes. It first waits until it may write to the connection.
func (a *answer) send() {
	if !a.writing {
		a.writing, a.err = true, a.c.out.begin()
	}
	if a.err == nil && len(a.b) > 0 {
		a.err = a.c.out.write(a.b)
		a.b = a.b[:0]
	}
}

// end sends the remaining bytes and releases the connection. It returns an error if the connection cannot be
// used any more, because the response is missing or incomplete.
func (a *answer) end() error {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	if a.rest > 0 && a.err == nil {
		a.err = http.ErrContentLength
	}
	switch {
	case a.writing:
		if a.err == nil {
			a.send()
		}
		a.writing = false
		return a.c.out.end(a.err)
	case a.err != nil:
		return a.err
	}
	return a.c.out.add(a.b, !a.later)
}

// drop releases the connection after the handler was aborted.
func (a *answer) drop() {
	if a.writing {
		_ = a.c.out.end(http.ErrAbortHandler)
	}
}

// SetWriteDeadline is called by http.ResponseController. It does nothing, since each piece has its own time
// limit.
func (a *answer) SetWriteDeadline(time.Time) error { return nil }
