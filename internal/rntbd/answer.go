package rntbd

import (
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The numbers of the RNTBD tokens in the head of a response.
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

// inOnePiece is the maximum size, in bytes, of a response that is copied to a buffer, so that the request's
// own memory can be released before the response is sent.
const inOnePiece = 16 << 10

// ResponseSender sends the response to a frame. A handler calls Send once.
type ResponseSender struct {
	c     *conn
	f     *frame
	b     []byte // the response, if it is small
	sent  bool   // Send was called
	later bool   // a small response may be sent together with the responses to later frames
	// headOnly says that the response has no body, because the request has the method HEAD.
	headOnly bool
	err      error                   // of sending a large response
	turn     *readLoopRequestContext // nil: a worker serves the frame
}

// Authorized reports that the request has been authorized. Until the first request of a connection has been
// authorized, the connection serves one request at a time. A handler that may take long calls Authorized so
// that the following requests need not wait for its response.
func (w *ResponseSender) Authorized() { w.c.trust(w.turn) }

// ResponseHead is everything in a response except its body: the status, and the values that are sent as
// tokens. Fields with the zero value are omitted.
type ResponseHead struct {
	Status, Substatus int

	// Range is the id of the partition key range that has served the request, Session is the part of the
	// session token after that id, and LSN is the LSN of the range. If they are not set, the response
	// repeats the session token of the request.
	Range   string
	Session []byte
	LSN     uint64

	OwnerName []byte // path of the owner of the resource by names

	ItemLSN    uint64 // LSN at which the item was last written
	Charge     float64
	Duration   time.Duration
	RetryAfter time.Duration
	Counted    bool // Count is set
	Count      int  // number of entries in the body
	// WithoutPlan says that the query was run without a query plan, as the client has requested.
	WithoutPlan bool

	// Texts are the values of the text fields of a response, such as its ETag. The index is a
	// ResponseTextFieldID.
	Texts [textCount]string
}

// ResponseTextFieldID identifies one of the text fields in the head of a response, such as ETag.
type ResponseTextFieldID int

// The text fields in the head of a response.
const (
	Continuation ResponseTextFieldID = iota
	ETag
	OwnerID // rid of the owner of the resource
	Quota
	Usage
	ScriptLog
	QueryMetrics
	IndexUtilization
	ExecutionInfo
	textCount
)

var textTokens = [textCount]uint16{Continuation: answerContinuation, ETag: answerETag,
	OwnerID: answerOwnerID, Quota: answerQuota, Usage: answerUsage,
	ScriptLog: answerLog, QueryMetrics: answerQueryMetrics, IndexUtilization: answerIndexMetrics,
	ExecutionInfo: answerExecutionInfo}

// Send sends the response. It keeps neither h nor body. A failure means that the client is gone; the
// connection is then closed after the handler has returned.
func (w *ResponseSender) Send(h *ResponseHead, body []byte) {
	if w.sent {
		return
	}
	w.sent = true
	if h.Status < http.StatusBadRequest {
		w.c.trust(w.turn)
	}
	if w.headOnly || h.Status == http.StatusNoContent || h.Status == http.StatusNotModified {
		body = nil
	}
	w.b = w.appendHead(w.b[:0], h, len(body))
	if len(w.b)+len(body) <= inOnePiece {
		w.b = append(w.b, body...)
		return
	}
	if w.f.payload != nil {
		w.f.payload.end()
	}
	err := w.c.out.begin()
	if err == nil {
		err = w.c.out.write(w.b)
	}
	if err == nil {
		err = w.c.out.write(body)
	}
	w.b, w.err = w.b[:0], w.c.out.end(err)
}

// appendHead appends the head of the response and the length of its body.
func (w *ResponseSender) appendHead(b []byte, h *ResponseHead, length int) []byte {
	b = appendAnswerHead(b, h.Status, w.f.activity)
	b = appendByte(b, answerPayloadPresent, byte(min(length, 1)))
	b = appendULong(b, answerRequestID, uint32(w.f.tokens.number(tokenRequestID)))
	b = w.appendPosition(b, h)
	if len(h.OwnerName) > 0 {
		b = appendString(b, answerOwnerName, h.OwnerName)
	}
	for i := range h.Texts {
		if h.Texts[i] != "" {
			b = appendString(b, textTokens[i], h.Texts[i])
		}
	}
	if h.Counted {
		b = appendULong(b, answerItemCount, uint32(h.Count))
	}
	if h.Substatus != 0 {
		b = appendULong(b, answerSubstatus, uint32(h.Substatus))
	}
	if n := h.RetryAfter.Milliseconds(); n != 0 {
		b = appendULong(b, answerRetryAfter, uint32(n))
	}
	if n := int64(h.ItemLSN); n != 0 {
		b = appendLongLong(appendLongLong(b, answerItemLSN, n), answerItemLocalLSN, n)
	}
	if h.WithoutPlan {
		b = appendByte(b, answerDistribution, 0)
	}
	milliseconds := float64(h.Duration.Microseconds()) / 1000
	b = appendDouble(appendDouble(b, answerCharge, h.Charge), answerDuration, milliseconds)
	if b = endHead(b); length > 0 {
		b = binary.LittleEndian.AppendUint32(b, uint32(length))
	}
	return b
}

// appendPosition appends the tokens with the session token and the LSNs of the replica. All replicas are this
// server, so the LSN of the replica is also that of the quorum. If the handler has set no LSN, as for a list
// of databases or a refused request, it appends that of the request's session token or, without one, LSN 1.
func (w *ResponseSender) appendPosition(b []byte, h *ResponseHead) []byte {
	rangeID, session, lsn := h.Range, h.Session, int64(h.LSN)
	if len(session) == 0 {
		rangeID, session, lsn = w.askedPosition()
	}
	lsn = max(lsn, 1) // the LSN of an empty range; clients refuse 0
	b = appendString(b, answerSession, session)
	if rangeID != "" {
		b = appendString(b, answerRangeID, rangeID)
	}
	for _, id := range [...]uint16{answerLSN, answerLocalLSN, answerCommittedLSN} {
		b = appendLongLong(b, id, lsn)
	}
	acknowledged := lsn
	if w.wrote(h.Status) { // the primary responds after the quorum has acknowledged all previous writes
		acknowledged = max(lsn-1, 1)
	}
	for _, id := range [...]uint16{answerQuorumLSN, answerLocalQuorumLSN} {
		b = appendLongLong(b, id, acknowledged)
	}
	b = appendULong(b, answerReplicaSet, 1)
	b = appendULong(b, answerWriteQuorum, 1)
	// without it a client with Strong consistency would wait for them
	return appendULong(b, answerReadRegions, 0)
}

// askedPosition returns the id of the partition key range and the LSN in the session token of the request,
// and the part of the token after the range. Without a session token it returns "-1#1" and LSN 1.
func (w *ResponseSender) askedPosition() (rangeID string, session []byte, lsn int64) {
	asked := w.f.tokens.text(tokenSession)
	of, known, _ := strings.Cut(asked[strings.LastIndexByte(asked, ',')+1:], ":")
	if known == "" {
		return w.f.tokens.text(tokenRangeID), []byte("-1#1"), 1
	}
	_, at, _ := strings.Cut(known, "#")
	at, _, _ = strings.Cut(at, "#")
	lsn, _ = strconv.ParseInt(at, 10, 64)
	return of, []byte(known), lsn
}

// wrote reports whether the request is a write of items and status says that it has succeeded.
func (w *ResponseSender) wrote(status int) bool {
	return status < http.StatusMultipleChoices && slices.Contains(writes[:], w.f.operation)
}

// end is called after the handler has returned. It passes a response that is small enough to be copied to
// the connection's queue of responses; Send has already written a larger one. It returns an error if the
// connection cannot be used any more, because the response is missing or incomplete.
func (w *ResponseSender) end() error {
	switch {
	case !w.sent:
		return errNoResponse
	case w.err != nil || len(w.b) == 0:
		return w.err
	}
	return w.c.out.add(w.b, !w.later)
}

// errNoResponse reports a handler that has not sent a response.
var errNoResponse = errors.New("rntbd: there is no response")
