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

// texts are the headers that are strings in an answer, too.
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

// inOnePiece is how long an answer may be, in bytes, that is kept until its handler has ended, and is sent
// at once.
const inOnePiece = 16 << 10

// answer is the http.ResponseWriter of a frame. It keeps the connection's turn to write from the first byte
// to the last, and sends the body as it comes: how long that is the header tells.
type answer struct {
	c        *conn
	f        *frame
	h        http.Header
	b        []byte // what is not sent yet
	rest     int64  // bytes of the body that are to come
	begun    bool   // there is a head
	writing  bool   // the turn to write is this answer's
	headOnly bool   // no body is sent
	err      error
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.h }

// get is a header, whose names are written as the gateway writes them: in lower case.
func (a *answer) get(name string) string {
	if v := a.h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (a *answer) number(name string) int64 {
	n, _ := strconv.ParseInt(a.get(name), 10, 64)
	return n
}

// WriteHeader implements http.ResponseWriter: it makes the head.
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

// appendPosition says how far the replica is that answers: there is one, and it has what it has told. An
// answer that has no position, such as that of a list of databases or of a request that was refused, has the
// one that the client knows, which it believes, or the first.
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
	lsn = max(lsn, 1) // an empty range is at its beginning, and clients do not believe a 0
	b = appendString(b, answerSession, session)
	if rangeID != "" {
		b = appendString(b, answerRangeID, rangeID)
	}
	for _, id := range []uint16{answerLSN, answerLocalLSN, answerCommittedLSN} {
		b = appendLongLong(b, id, lsn)
	}
	acknowledged := lsn
	if a.wrote(status) { // what a quorum has acknowledged when the primary answers is what was there before
		acknowledged = max(lsn-1, 1)
	}
	for _, id := range []uint16{answerQuorumLSN, answerLocalQuorumLSN} {
		b = appendLongLong(b, id, acknowledged)
	}
	b = appendULong(b, answerReplicaSet, 1)
	b = appendULong(b, answerWriteQuorum, 1)
	return appendULong(b, answerReadRegions, 0) // more than none make a Strong client wait for them
}

// wrote reports whether the frame is a write that was done.
func (a *answer) wrote(status int) bool {
	return status < http.StatusMultipleChoices && slices.Contains(writes, a.f.operation)
}

// Write implements http.ResponseWriter.
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
		a.err = a.c.write(p)
	}
	return len(p), a.err
}

// send writes what is there, when it is this answer's turn.
func (a *answer) send() {
	if !a.writing {
		a.c.turn.Lock()
		a.writing = true
	}
	if a.err == nil && len(a.b) > 0 {
		a.err = a.c.write(a.b)
		a.b = a.b[:0]
	}
}

// end sends the rest and gives the turn up. Its error says that the connection cannot be used any more: half
// of an answer is out, or none is.
func (a *answer) end() error {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	if a.rest > 0 && a.err == nil {
		a.err = http.ErrContentLength
		if !a.writing {
			return a.err
		}
	}
	a.send()
	a.c.turn.Unlock()
	return a.err
}

// drop gives up an answer whose handler has given up.
func (a *answer) drop() {
	if a.writing {
		a.c.turn.Unlock()
	}
}

// SetWriteDeadline is for http.ResponseController. Each piece has a time limit of its own already.
func (a *answer) SetWriteDeadline(time.Time) error { return nil }
