package rntbd_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/rntbd"
)

// cachedContainer is a header that exists only in these tests. In it the tests' handler gets the value of
// Request.CachedContainer: the rid that the client has cached for the container's name.
const cachedContainer = "X-Cached-Container"

// served converts an HTTP handler to a handler of frames. It reports each request as authorized unless its
// authorization is "wrong", and converts the handler's HTTP response to a ResponseHead and a body.
func served(h http.HandlerFunc) func(context.Context, *rntbd.Request, *rntbd.ResponseSender) {
	return func(ctx context.Context, in *rntbd.Request, out *rntbd.ResponseSender) {
		r := &http.Request{Method: in.Method, RequestURI: in.Path, URL: &url.URL{Path: in.Path},
			Header: http.Header{}, ContentLength: in.Length, Body: http.NoBody, RemoteAddr: in.Remote}
		for _, f := range in.Fields {
			r.Header.Add(f.Name, f.Value)
		}
		if in.CachedContainer != "" {
			r.Header.Set(cachedContainer, in.CachedContainer)
		}
		switch {
		case in.Payload != nil:
			r.Body = io.NopCloser(bytes.NewReader(in.Payload))
		case in.Body != nil:
			r.Body = io.NopCloser(in.Body)
		}
		if r.Header.Get("Authorization") != "wrong" {
			out.Authorized()
		}
		w := &responseRecorder{h: http.Header{}}
		h(w, r.WithContext(ctx))
		if w.status != 0 {
			out.Send(w.head(), w.b.Bytes())
		}
	}
}

// responseRecorder is an http.ResponseWriter that keeps what is written.
type responseRecorder struct {
	h      http.Header
	status int
	b      bytes.Buffer
}

func (w *responseRecorder) Header() http.Header         { return w.h }
func (w *responseRecorder) WriteHeader(status int)      { w.status = status }
func (w *responseRecorder) Write(p []byte) (int, error) { return w.b.Write(p) }

// head converts the recorded status and headers to a ResponseHead.
func (w *responseRecorder) head() *rntbd.ResponseHead {
	get := func(name string) string { return strings.Join(w.h[name], ",") }
	number := func(name string) float64 {
		n, _ := strconv.ParseFloat(get(name), 64)
		return n
	}
	_, session, _ := strings.Cut(get("x-ms-session-token"), ":")
	h := &rntbd.ResponseHead{Status: w.status, Substatus: int(number("x-ms-substatus")),
		OwnerName: []byte(get("x-ms-alt-content-path")),
		Range:     get("x-ms-documentdb-partitionkeyrangeid"), Session: []byte(session),
		LSN: uint64(number("lsn")), ItemLSN: uint64(number("x-ms-item-lsn")),
		Charge:     number("x-ms-request-charge"),
		Duration:   time.Duration(number("x-ms-request-duration-ms") * float64(time.Millisecond)),
		RetryAfter: time.Duration(number("x-ms-retry-after-ms")) * time.Millisecond,
		Counted:    get("x-ms-item-count") != "", Count: int(number("x-ms-item-count"))}
	for text, name := range map[rntbd.ResponseTextFieldID]string{rntbd.Continuation: "x-ms-continuation",
		rntbd.ETag: "etag", rntbd.OwnerID: "x-ms-content-path",
		rntbd.Quota: "x-ms-resource-quota", rntbd.Usage: "x-ms-resource-usage"} {
		h.Texts[text] = get(name)
	}
	return h
}
