package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/store/fault"
)

const testActivity = "0dd29c1a-2f2e-4a5e-8f60-3a0f1f2f3d4e"

// answerTo runs one handler on one request and returns the answer and the log.
func answerTo(t *testing.T, r *http.Request, run func(c *activeRequest) error) (*httptest.ResponseRecorder,
	string) {
	t.Helper()
	var log bytes.Buffer
	s := newServerUnderTest(t,
		func(s *serverUnderTestOptions) { s.server.Logger = slog.New(slog.NewTextHandler(&log, nil)) }).srv
	w := httptest.NewRecorder()
	r.Header.Set("x-ms-activity-id", testActivity)
	s.serveHTTP(r, echo.NewResponse(w, echo.New()), s.recovered(run))
	return w, log.String()
}

func TestStatusOfErrorCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Code]struct {
		status          int
		substatus, name string
		text            string
	}{
		fault.CodeInternal: {500, "", "InternalServerError",
			"An internal error occurred. The server's log tells more under this activity id."},
		fault.CodeBadRequest:           {400, "", "BadRequest", "why"},
		fault.CodePartitionKeyMismatch: {400, "1001", "BadRequest", "why"},
		fault.CodeForbidden:            {403, "", "Forbidden", "why"},
		fault.CodeNotFound: {404, "", "NotFound",
			"Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found"},
		fault.CodeOwnerNotFound: {404, "1003", "NotFound", "https://aka.ms/cosmosdb-tsg-not-found"},
		fault.CodeSessionNotAvailable: {404, "1002", "NotFound",
			`{"Errors":["The read/write session is not available for the input session token.","why"]}`},
		fault.CodeConflict:  {409, "", "Conflict", "why"},
		fault.CodeRangeGone: {410, "1002", "Gone", "why"},
		fault.CodePreconditionFailed: {412, "", "PreconditionFailed",
			`{"Errors":["` + "One of the specified pre-condition is not met. Learn more: https://aka.ms/CosmosDB/sql/errors/precondition-failed" + `"]}`},
		fault.CodeTooLarge: {413, "", "RequestEntityTooLarge",
			`Message: {"Errors":["Request size is too large"]}` + "\r\n"},
		fault.CodeCanceled:         {408, "", "RequestTimeout", "why"},
		fault.CodeDiskFull:         {507, "", "InsufficientStorage", "why"},
		fault.CodeUnavailable:      {503, "", "ServiceUnavailable", "why"},
		fault.CodeCrossPartition:   {400, "1004", "BadRequest", "why"},
		fault.CodeThrottled:        {429, "3200", "TooManyRequests", "why"},
		fault.CodeFailedDependency: {424, "", "FailedDependency", "why"},
		fault.Code(255): {500, "", "InternalServerError",
			"An internal error occurred. The server's log tells more under this activity id."},
	} {
		var w *httptest.ResponseRecorder
		var log string
		t.Run(code.String(), func(t *testing.T) { // at whose end the server is closed
			r := httptest.NewRequest("GET", "/dbs/a%20b", nil)
			w, log = answerTo(t, r, func(c *activeRequest) error {
				c.ans.Range, c.ans.LSN, c.ans.Version, c.ans.Charge = "3", 42, -1, 6.29
				c.ans.OwnerRID, c.ans.OwnerDatabase, c.ans.OwnerContainer = "HpxDAIt3MtQ=", "a b", "c/d"
				return fmt.Errorf("deeper: %w", &fault.Error{Code: code, Message: "why", Hint: "do this",
					Err: errors.New("cause")})
			})
		})
		var body struct{ Code, Message string }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("%s: %v: %s", code, err, w.Body)
		}
		h := headerOf(t, w)
		if w.Code != want.status || h.Get("x-ms-substatus") != want.substatus || body.Code != want.name ||
			!strings.Contains(body.Message, want.text) {
			t.Errorf("%s: %d/%s %s %s", code, w.Code, h.Get("x-ms-substatus"), body.Code, body.Message)
		}
		if h.Get("content-type") != "application/json" ||
			h.Get("content-length") != fmt.Sprint(w.Body.Len()) || h.Get("x-ms-request-charge") != "6.29" ||
			h.Get("x-ms-session-token") != "3:-1#42" || h.Get("lsn") != "42" ||
			h.Get("x-ms-documentdb-partitionkeyrangeid") != "3" || h.Get("x-ms-activity-id") != testActivity {
			t.Errorf("%s: headers %v", code, h)
		}
		if path, alt := h.Get("x-ms-content-path"), h.Get("x-ms-alt-content-path"); (path == "") != (want.status == 404) || alt != "dbs/a%20b/colls/c%2Fd" {
			t.Errorf("%s: content path %q, %q", code, path, alt)
		}
		first, _, _ := strings.Cut(body.Message, "\r\n")
		var inner struct{ Errors []string }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(first, "Message: ")), &inner); err != nil ||
			len(inner.Errors) == 0 {
			t.Errorf("%s: inner message %s: %v", code, first, err)
		}
		if !strings.Contains(body.Message, "\r\nActivityId: "+testActivity+", Request URI: /dbs/a%20b, ") {
			t.Errorf("%s: %s", code, body.Message)
		}
		if logged := strings.Contains(log, testActivity); logged != (want.status >= 500) {
			t.Errorf("%s: log %q", code, log)
		}
	}
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ asked, set, want string }{
		"set by the handler": {`"b"`, `"a"`, `"a"`},
		"from the request":   {`"b"`, "", `"b"`},
		"any":                {"*", "", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("If-None-Match", tc.asked)
		w, _ := answerTo(t, r, func(c *activeRequest) error {
			c.ans.ETag = tc.set
			return &fault.Error{Code: fault.CodeNotModified, Message: "not modified"}
		})
		if w.Code != 304 || w.Body.Len() != 0 || headerOf(t, w).Get("etag") != tc.want ||
			headerOf(t, w).Get("content-type") != "" || headerOf(t, w).Get("x-ms-request-charge") != "1" {
			t.Errorf("%s: %d %q %v", name, w.Code, w.Body, headerOf(t, w))
		}
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	w, log := answerTo(t, httptest.NewRequest("GET", "/dbs", nil),
		func(*activeRequest) error { panic("a secret detail") })
	if w.Code != 500 || !json.Valid(w.Body.Bytes()) || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log, "a secret detail") || !strings.Contains(log, testActivity) {
		t.Errorf("log %q", log)
	}
}

func TestPanicAfterResponseStarted(t *testing.T) {
	t.Parallel()
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("panic %v: half an answer was not broken off", p)
		}
	}()
	answerTo(t, httptest.NewRequest("GET", "/dbs", nil), func(c *activeRequest) error {
		_ = c.json(200, []byte("{}"))
		panic("late")
	})
}

func TestRequestChargeHeader(t *testing.T) {
	t.Parallel()
	for charge, want := range map[float64]string{0: "1", 1: "1", 2.35: "2.35", 6.29: "6.29",
		1234567: "1234567"} {
		w, _ := answerTo(t, httptest.NewRequest("GET", "/", nil), func(c *activeRequest) error {
			c.ans.LSN, c.ans.Charge = 9, charge
			return c.noContent(204)
		})
		h := headerOf(t, w)
		if h.Get("x-ms-request-charge") != want || h.Get("x-ms-session-token") != "" ||
			h.Get("content-length") != "" {
			t.Errorf("%v: %v", charge, h)
		}
	}
}

func TestHeaderValuesDoNotAlias(t *testing.T) {
	t.Parallel()
	w, _ := answerTo(t, httptest.NewRequest("GET", "/", nil), func(c *activeRequest) error {
		for i := range 40 {
			c.set(fmt.Sprintf("x-ms-test-%d", i), fmt.Sprint(i))
		}
		c.w.Header()["x-ms-test-0"] = append(c.w.Header()["x-ms-test-0"], "more")
		return c.noContent(200)
	})
	for i := range 40 {
		if got := headerOf(t, w).Get(fmt.Sprintf("X-Ms-Test-%d", i)); got != fmt.Sprint(i) {
			t.Errorf("header %d is %q", i, got)
		}
	}
}

// TestResourceTypeInErrors checks that the message of an error names the resource type and the operation,
// because SDKs parse them from the text.
func TestResourceTypeInErrors(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	query := append(queryHeaders(), pk(`["a"]`)...)
	for _, q := range []struct{ method, path, body, want string }{
		{"GET", docs + "/none", "", "Document, OperationType: Read"},
		{"PUT", docs + "/none", `{"id":"none","pk":"a"}`, "Document, OperationType: Replace"},
		{"DELETE", docs + "/none", "", "Document, OperationType: Delete"},
		{"POST", docs, "{", "Document, OperationType: Create"},
		{"GET", "/dbs/d/colls/none", "", "Collection, OperationType: Read"},
		{"GET", "/dbs/d/colls/none/docs/1", "", "Collection, OperationType: Read"},
		{"POST", "/dbs/d/colls/none/docs", `{"id":"1"}`, "Collection, OperationType: Read"},
		{"GET", "/dbs/d/colls/none/docs", "", "Collection, OperationType: Read"},
		{"POST", "/dbs/none/colls", `{"id":"x"}`, "Database, OperationType: Read"},
		{"GET", "/dbs/none", "", "Database, OperationType: Read"},
		{"POST", "/dbs", "{", "Database, OperationType: Create"},
		{"GET", coll + "/sprocs/none", "", "StoredProcedure, OperationType: Read"},
		{"POST", coll + "/sprocs/none", "[]", "StoredProcedure, OperationType: ExecuteJavaScript"},
		{"GET", "/dbs/d/users/none", "", "User, OperationType: Read"},
		{"GET", "/dbs/d/users/none/permissions", "", "User, OperationType: Read"},
	} {
		a := w.do(q.method, q.path, q.body, pk(`["a"]`)...)
		if text := a.at("message").Str; a.code < 400 ||
			!strings.Contains(text, ", RequestStats: \r\n ResourceType: "+q.want+"\r\n, SDK: ") {
			t.Errorf("%s: %d %s", a.what, a.code, text)
		}
	}
	w.do("POST", docs, `{"query":"SELECT"}`, query...).fails(400, 0,
		"ResourceType: Document, OperationType: Query")
	w.do("GET", docs, "", "x-ms-max-item-count", "x").fails(400, 0,
		"ResourceType: Document, OperationType: ReadFeed")
	w.do("GET", docs, "", "x-ms-session-token", "no").fails(400, 0,
		"The session token provided 'no' is invalid.")
	w.do("GET", docs, "", "x-ms-documentdb-responsecontinuationtokenlimitinkb", "0").
		fails(400, 0, "continuation token limit specified is not large enough")
	for _, limit := range []string{"-1", "-5"} {
		w.do("GET", docs, "", "x-ms-documentdb-responsecontinuationtokenlimitinkb", limit).fails(400, 0,
			"Please pass in a valid continuation token size limit which must be a positive integer")
	}
	if text := w.do("GET", "/_mayfly/nothing", "").want(404).at("message").Str; !strings.Contains(text,
		"RequestStats: , SDK") {
		t.Error(text)
	}
}
