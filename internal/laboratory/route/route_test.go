package route

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// fakeServerAndRequestIO implements both interfaces that routes need: it is the Server, to which the handlers
// belong, and the RequestIO, which reads bodies and sends responses. charged has the charges of the requests.
type fakeServerAndRequestIO struct{ charged []float64 }

func (s *fakeServerAndRequestIO) Wire() RequestIO { return s }

func (*fakeServerAndRequestIO) Body(ec echo.Context) []byte {
	b, _ := io.ReadAll(ec.Request().Body) // of a test's own reader
	return b
}

func (s *fakeServerAndRequestIO) Charge(_ echo.Context, r store.OperationReceipt) {
	s.charged = append(s.charged, r.Charge)
}

func (*fakeServerAndRequestIO) Answer(ec echo.Context, status int, body []byte) error {
	if body == nil {
		return ec.NoContent(status)
	}
	kind := ec.Response().Header().Get("Content-Type")
	if kind == "" {
		kind = JSONKind
	}
	return ec.Blob(status, kind, body)
}

// SelfDecodingPathParameter is a part of the request structs of the tests. It implements RequestPartDecoder:
// it decodes the path parameter shelf itself.
type SelfDecodingPathParameter struct {
	Shelf string `path:"shelf"`
}

func (s *SelfDecodingPathParameter) Find(_ *fakeServerAndRequestIO, ec echo.Context) (err error) {
	if s.Shelf, err = PathParam(ec, "shelf"); err == nil && s.Shelf == "none" {
		err = NotFound("There is no shelf 'none'.")
	}
	return err
}

// upperCaseOnlyText is a string member of a request that must be in capitals. It implements
// JSONMemberDecoder: it decodes its own JSON value.
type upperCaseOnlyText string

func (u *upperCaseOnlyText) DecodeMember(name string, v jsondoc.Value) error {
	if v.Str() != strings.ToUpper(v.Str()) {
		return BadRequest("'" + name + "' must be in capitals.")
	}
	*u = upperCaseOnlyText(v.Str())
	return nil
}

type putRequest struct {
	SelfDecodingPathParameter
	Title RequiredText      `json:"title" first:"true"`
	Code  upperCaseOnlyText `json:"code,omitempty"`
	Count int64             `json:"count,omitempty" minimum:"1" maximum:"9" default:"3"`
	Price *float64          `json:"price,omitempty"`
	Sold  bool              `json:"sold" missing:"The body must have 'sold'."`
	_     struct{}          `takes:"a book has %" additionalProperties:"false"`
}

type putBookResponse struct {
	Shelf string   `json:"shelf"`
	Title string   `json:"title"`
	Code  string   `json:"code,omitempty"`
	Count int64    `json:"count"`
	Price *float64 `json:"price,omitempty"`
	Sold  bool     `json:"sold"`
	cost  float64
}

func (a *putBookResponse) Receipt() store.OperationReceipt {
	return store.OperationReceipt{Charge: a.cost}
}
func (a *putBookResponse) StatusCode() int { return http.StatusCreated }
func (a *putBookResponse) SetHeaders(h http.Header) {
	h["X-Shelf"] = []string{a.Shelf}
}

func (*fakeServerAndRequestIO) put(_ context.Context, in *putRequest) (putBookResponse, error) {
	out := putBookResponse{in.SelfDecodingPathParameter.Shelf, string(in.Title), string(in.Code), in.Count,
		in.Price,
		in.Sold, 7}
	if in.Title == "burnt" {
		return out, &Error{http.StatusConflict, "It is burnt."}
	}
	return out, nil
}

type listBooksRequest struct {
	SelfDecodingPathParameter
	After string `query:"after"`
	Limit int64  `query:"limit" minimum:"1" maximum:"10" default:"5"`
}

type echoedListParameters struct {
	After string `json:"after"`
	Limit int64  `json:"limit"`
}

// Verbatim marks the response as a VerbatimResponse: its text is sent without escapes for the characters that
// HTML reserves.
func (*echoedListParameters) Verbatim() {}

func (*fakeServerAndRequestIO) list(_ context.Context, in *listBooksRequest) (echoedListParameters, error) {
	return echoedListParameters{in.After, in.Limit}, nil
}

func (*fakeServerAndRequestIO) clear(context.Context, *NoBody) (NoBody, error) { return NoBody{}, nil }

func (s *fakeServerAndRequestIO) sign(ec echo.Context, _ *NoBody) error {
	return Send(s, ec, http.StatusOK, &TextResponse{"text/plain", []byte("open")})
}

func table() []Route[*fakeServerAndRequestIO] {
	return []Route[*fakeServerAndRequestIO]{
		On(http.MethodPost, "/shelves/{shelf}", "Put a book on a shelf", (*fakeServerAndRequestIO).put).
			Answering(http.StatusCreated).Failing(http.StatusConflict),
		On(http.MethodGet, "/shelves/{shelf}", "The books of a shelf", (*fakeServerAndRequestIO).list),
		On(http.MethodDelete, "/shelves", "Clear the shop", (*fakeServerAndRequestIO).clear),
		Raw(http.MethodGet, "/sign", "The sign", (*fakeServerAndRequestIO).sign).Public().
			As(ResponseFormat{Kind: "text/plain", Description: "A word."}),
	}
}

// serve sends a request to the routes of the tests and returns the response, or the error of the handler.
// If key is false, the request has no master key, and only a public route serves it.
func serve(t *testing.T, s *fakeServerAndRequestIO, method, path, body string,
	key bool) (*httptest.ResponseRecorder, error) {
	t.Helper()
	e, failure := echo.New(), error(nil)
	e.HTTPErrorHandler = func(err error, _ echo.Context) { failure = err }
	open := func(next echo.HandlerFunc) echo.HandlerFunc { return next }
	keyed := func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(ec echo.Context) error {
			if !key {
				return &Error{http.StatusUnauthorized, "no key"}
			}
			return next(ec)
		}
	}
	for _, r := range table() {
		r.Register(e.Group(""), s, open, keyed)
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return w, failure
}

func TestRequests(t *testing.T) {
	for _, c := range []struct{ method, path, body, answer, refusal string }{
		{"POST", "/shelves/a%2Fb", `{"title":"Emma","sold":true}`,
			`{"shelf":"a/b","title":"Emma","count":3,"sold":true}`, ""},
		{"POST", "/shelves/a", `{"title":"Emma","sold":false,"code":"XY","count":9,"price":1.5}`,
			`{"shelf":"a","title":"Emma","code":"XY","count":9,"price":1.5,"sold":false}`, ""},
		{"POST", "/shelves/none", `{`, "", "There is no shelf 'none'."},
		{"POST", "/shelves/a", `{`, "", "The input content is invalid: "},
		{"POST", "/shelves/a", ``, "", "The input content is invalid: "},
		{"POST", "/shelves/a", `[]`, "", "The request body must be a JSON object."},
		{"POST", "/shelves/a", `{"colour":1}`, "", "required property 'title' is missing"},
		{"POST", "/shelves/a", `{"title":"","colour":1}`, "",
			"'colour' is not known: a book has 'title', 'code', 'count', 'price' and 'sold'."},
		{"POST", "/shelves/a", `{"title":""}`, "", "The body must have 'sold'."},
		{"POST", "/shelves/a", `{"title":"","code":"x"}`, "", "'code' must be in capitals."},
		{"POST", "/shelves/a", `{"title":"","count":0}`, "", "'count' must be a whole number between 1"},
		{"POST", "/shelves/a", `{"title":"","count":1.5}`, "", "'count' must be a whole number between 1"},
		{"POST", "/shelves/a", `{"title":"","price":"1"}`, "", "'price' must be a number."},
		{"POST", "/shelves/a", `{"title":"","sold":1}`, "", "'sold' must be true or false."},
		{"POST", "/shelves/a", `{"title":"burnt","sold":true}`, "", "It is burnt."},
		{"GET", "/shelves/a?after=%3Ca%3E", "", `{"after":"<a>","limit":5}`, ""},
		{"GET", "/shelves/a?limit=10", "", `{"after":"","limit":10}`, ""},
		{"GET", "/shelves/a?limit=11", "", "", "'limit' must be a whole number between 1 and 10."},
		{"GET", "/shelves/a?colour=1", "", "", "'colour' is not known here."},
		{"GET", "/shelves/a?%zz", "", "", "The query string is malformed."},
		{"HEAD", "/shelves/a", "", `{"after":"","limit":5}`, ""},
		{"DELETE", "/shelves", "", "", ""},
	} {
		w, err := serve(t, new(fakeServerAndRequestIO), c.method, c.path, c.body, true)
		if c.refusal != "" {
			var own *Error
			if !errors.As(err, &own) || !strings.Contains(own.Message, c.refusal) {
				t.Errorf("%s %s %s: %v, want %q", c.method, c.path, c.body, err, c.refusal)
			}
			continue
		}
		if err != nil || w.Body.String() != c.answer {
			t.Errorf("%s %s %s: %s, %v, want %s", c.method, c.path, c.body, w.Body, err, c.answer)
		}
	}
}

func TestResponseStatusAndHeaders(t *testing.T) {
	s := new(fakeServerAndRequestIO)
	w, err := serve(t, s, "POST", "/shelves/a", `{"title":"Emma","sold":true}`, true)
	if err != nil || w.Code != http.StatusCreated || w.Header().Get("X-Shelf") != "a" {
		t.Errorf("%d %v, %v", w.Code, w.Header(), err)
	}
	if _, err := serve(t, s, "POST", "/shelves/a", `{"title":"burnt","sold":true}`, true); err == nil {
		t.Error("a burnt book was put on a shelf")
	}
	if !slices.Equal(s.charged, []float64{7, 7}) {
		t.Errorf("charged %v: a failure is charged as well", s.charged)
	}
	if w, err := serve(t, s, "DELETE", "/shelves", "", true); err != nil || w.Code != http.StatusNoContent {
		t.Errorf("%d, %v", w.Code, err)
	}
}

func TestOnlyPublicRoutesNeedNoKey(t *testing.T) {
	if w, err := serve(t, new(fakeServerAndRequestIO), "GET", "/sign", "", false); err != nil ||
		w.Body.String() != "open" {
		t.Errorf("%s, %v", w.Body, err)
	}
	var own *Error
	if _, err := serve(t, new(fakeServerAndRequestIO), "DELETE", "/shelves", "", false); !errors.As(err,
		&own) ||
		own.Status != http.StatusUnauthorized {
		t.Errorf("%v", err)
	}
}

func TestDescription(t *testing.T) {
	d, err := Describe(table(), OpenAPIOptions{Title: "Books", Prefixes: []string{"Route"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(&d)
	if err != nil {
		t.Fatal(err)
	}
	doc := jsondoc.Of(text)
	at := func(path ...string) jsondoc.Value {
		v := doc
		for _, name := range path {
			v = v.Member(name)
		}
		return v
	}
	body := []string{"paths", "/shelves/{shelf}", "post", "requestBody", "content", JSONKind, "schema",
		"$ref"}
	for _, c := range []struct {
		want string
		path []string
	}{
		{`"Books"`, []string{"info", "title"}},
		{`"post__shelves_shelf"`, []string{"paths", "/shelves/{shelf}", "post", "operationId"}},
		{`[{"masterKey":[]}]`, []string{"paths", "/shelves", "delete", "security"}},
		{``, []string{"paths", "/sign", "get", "security"}},
		{`"#/components/responses/Conflict"`,
			[]string{"paths", "/shelves/{shelf}", "post", "responses", "409", "$ref"}},
		{`"#/components/schemas/PutRequest"`, body},
		{`["title","sold"]`, []string{"components", "schemas", "PutRequest", "required"}},
		{`9`, []string{"components", "schemas", "PutRequest", "properties", "count", "maximum"}},
		{`false`, []string{"components", "schemas", "PutRequest", "additionalProperties"}},
	} {
		if got := string(at(c.path...).Raw()); got != c.want {
			t.Errorf("%s is %s, want %s", strings.Join(c.path, " "), got, c.want)
		}
	}
	page, err := Page(table(), &d)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<code>POST /shelves/{shelf}</code> &#8226;", "<code>GET /sign</code></td>",
		"<code>count: integer, optional</code>", "<code>?limit=integer</code>"} {
		if !strings.Contains(string(page.Body), want) {
			t.Errorf("the page has no %s: %s", want, page.Body)
		}
	}
}

func TestFieldNameList(t *testing.T) {
	for want, fields := range map[string][]bodyMemberOrQueryParameterSpec{
		"": {}, "'a'": {{name: "a"}}, "'a' and 'b'": {{name: "a"}, {name: "b"}},
		"'a', 'b' and 'c'": {{name: "a"}, {name: "b"}, {name: "c"}},
	} {
		if got := names(fields); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
