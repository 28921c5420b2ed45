package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/testdisk"
)

// omittedMembers are the response headers that the golden file omits, because they differ from run to run
// or are always the same.
var omittedMembers = map[string]bool{
	"x-ms-activity-id": true, "x-ms-request-duration-ms": true, "cache-control": true, "pragma": true,
	"x-ms-gatewayversion": true, "x-ms-serviceversion": true, "x-ms-schemaversion": true,
	"x-ms-last-state-change-utc": true, "Content-Length": true, "x-ms-session-token": true,
	"x-ms-content-path": true, "lsn": true, "x-ms-cosmos-llsn": true, "x-ms-global-committed-lsn": true,
	"x-ms-quorum-acked-lsn": true,
}

// varying are the parts of response bodies that differ from run to run; the golden file has placeholders
// for them.
var varying = []struct {
	is *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`ActivityId: [-0-9a-f]{36}`), "ActivityId: *"},
	{regexp.MustCompile(`:\d\d\.\d+Z`), ":*Z"}, // of a clock that has run
	{regexp.MustCompile(`"(_etag|eTag|_rid|_self|position)":"(\\.|[^"\\])*"`), `"$1":*`},
	{regexp.MustCompile(`"(lsn|sequence)":\d+`), `"$1":*`},
	{regexp.MustCompile(`"bytes":\d+`), `"bytes":*`},
	{regexp.MustCompile(`"(elapsedMs|loadMs|filterMs)":[0-9.e-]+`), `"$1":*`},
}

// TestLaboratoryResponses compares the responses of Mayfly's own API (status, headers, body) with a golden
// file. A case is a request: method, path, headers, and the body below. "pass for=10s" advances the data's
// clock.
func TestLaboratoryResponses(t *testing.T) {
	t.Parallel()
	testdisk.Pebble(t, "requests for snapshots are among them")
	w := newServerUnderTest(t)
	w.container(hashed + `,"defaultTtl":60`)
	datatest.Run(t, "testdata/laboratory.txt",
		func(_ *testing.T, c *datatest.TestFileCommand) string { return w.golden(c) })
}

// golden runs a case of a golden file and returns the response as text for that file.
func (w *serverUnderTest) golden(c *datatest.TestFileCommand) string {
	if c.Cmd == "pass" {
		w.clock.Advance(c.Duration("for", time.Second))
		return ""
	}
	_, rec := w.goldenCase(c)
	return goldenText(c, rec)
}

func (w *serverUnderTest) goldenCase(c *datatest.TestFileCommand) (*http.Request,
	*httptest.ResponseRecorder) {
	r := w.request(c.Cmd, c.Args[0], strings.TrimSuffix(c.Input, "\n"))
	for _, header := range c.Args[1:] {
		name, value, _ := strings.Cut(header, ":")
		r.Header.Set(name, value)
	}
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, r)
	return r, rec
}

func goldenText(c *datatest.TestFileCommand, rec *httptest.ResponseRecorder) string {
	var out strings.Builder
	fmt.Fprintln(&out, rec.Code)
	if !strings.Contains(c.Args[0], "/_") {
		return out.String() // what the laboratory works with
	}
	header := rec.Header()
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if !omittedMembers[name] {
			fmt.Fprintf(&out, "%s: %s\n", name, header[name][0])
		}
	}
	body := rec.Body.String()
	for _, v := range varying {
		body = v.is.ReplaceAllString(body, v.to)
	}
	return out.String() + body
}
