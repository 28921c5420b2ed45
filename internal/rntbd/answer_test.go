package rntbd_test

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"testing"

	"github.com/mayflydb/mayfly/internal/rntbdtest"
)

func TestResponses(t *testing.T) {
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("X-Ms-Activity-Id"); got != "00000000-0000-0000-0000-000000000009" ||
			r.Header.Get("X-Ms-Version") != "2020-07-15" || r.UserAgent() != "a test" {
			t.Errorf("activity %s, version %s of %s", got, r.Header.Get("X-Ms-Version"), r.UserAgent())
		}
		respond(
			w,
			201,
			"body",
			"x-ms-session-token",
			"3:-1#12",
			"x-ms-documentdb-partitionkeyrangeid",
			"3",
			"lsn",
			"12",
			"x-ms-request-charge",
			"7.43",
			"etag",
			`"e"`,
			"x-ms-continuation",
			"next",
			"x-ms-item-count",
			"0",
			"x-ms-substatus",
			"1002",
			"x-ms-retry-after-ms",
			"5",
			"x-ms-item-lsn",
			"11",
			"x-ms-alt-content-path",
			"dbs/d/colls/c",
			"x-ms-content-path",
			"AQ==",
			"x-ms-request-duration-ms",
			"1.5",
			"x-ms-resource-quota",
			"collectionSize=10;",
			"x-ms-resource-usage",
			"collectionSize=1;",
		)
	})
	l.write(frame(9, create, []byte("{}")))
	a := l.read()
	if a.Status != 201 || a.Activity != [16]byte{15: 9} || string(a.Body) != "body" {
		t.Errorf("%+v", a)
	}
	want := map[uint16]any{
		0x00: uint64(1),
		0x35: uint64(9),
		0x3E: "-1#12",
		0x21: "3",
		0x13: int64(12),
		0x3A: int64(12),
		0x1A: int64(11), // a write was acknowledged by nobody else yet
		0x3B: int64(11),
		0x29: int64(12),
		0x1F: uint64(1),
		0x1E: uint64(1),
		0x30: uint64(0),
		0x15: 7.43,
		0x04: `"e"`,
		0x03: "next",
		0x14: uint64(0),
		0x1C: uint64(1002),
		0x0C: uint64(5),
		0x32: int64(11),
		0x3C: int64(11),
		0x17: "dbs/d/colls/c",
		0x18: "AQ==",
		0x51: 1.5,
		0x0E: "collectionSize=10;",
		0x0F: "collectionSize=1;",
	}
	if !maps.Equal(a.Values, want) {
		t.Errorf("%v", a.Values)
	}
}

// TestResponseWithoutPosition checks the session token, the range id and the LSN of a response for which the
// handler has set none. They are those of the request's session token. Without a valid token, the LSN is 1
// and there is no range id.
func TestResponseWithoutPosition(t *testing.T) {
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) { respond(w, 404, "{}") })
	for asked, want := range map[string][3]any{
		"": {"-1#1", nil, int64(1)}, "2:-1#40": {"-1#40", "2", int64(40)},
		"0:7#41#1=3": {"7#41#1=3", "0", int64(41)},
		"0:-1#-1":    {"-1#-1", "0", int64(1)}, "nonsense": {"-1#1", nil, int64(1)},
	} {
		var tokens []rntbdtest.Token
		if asked != "" {
			tokens = append(tokens, rntbdtest.Text(0x05, asked))
		}
		l.write(frame(1, read, nil, tokens...))
		a := l.read()
		if got := [3]any{a.Values[0x3E], a.Values[0x21], a.Values[0x13]}; got != want {
			t.Errorf("%q: %v", asked, got)
		}
	}
}

// TestNoBodies checks that responses with status 304 or 204, and responses to HEAD, have no body, even if
// the handler writes one.
func TestNoBodies(t *testing.T) {
	l := greeted(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[len("/dbs/d/colls/c/docs/"):])
		respond(w, status, "a body", "x-ms-item-count", "0")
	})
	for _, c := range []struct {
		operation uint16
		status    string
	}{{read, "304"}, {5, "204"}, {0x11, "200"}} {
		l.write(
			rntbdtest.Frame(
				document,
				c.operation,
				[16]byte{},
				nil,
				rntbdtest.Text(0x15, "d"),
				rntbdtest.Text(0x16, "c"),
				rntbdtest.Text(0x17, c.status),
			),
		)
		if a := l.read(); fmt.Sprint(a.Status) != c.status || a.Body != nil || a.Values[0] != uint64(0) {
			t.Errorf("%+v", a)
		}
	}
}
