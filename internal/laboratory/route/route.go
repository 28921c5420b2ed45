package route

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// Route is a row of a table of routes. On and Raw make one; its methods return changed copies.
type Route[L Server] struct {
	Method  string
	Path    string       // "/_mayfly/dbs/{db}/clock"
	Summary string       // a line for people, without a full stop
	Request reflect.Type // the struct that requests are read into

	public  bool  // it needs no key
	status  int   // of its success
	other   []int // statuses of its success that it may have instead
	fails   []int // statuses of its failures, beside those that all routes with such a request have
	answers []Media
	decoder *decoder[L]
	serve   func(l L, r *Route[L], ec echo.Context) error
}

// Media is a form of an answer.
type Media struct {
	Kind        string // the content type
	Answer      any    // a value of its type; nil: text that no schema describes
	Description string // of text without a schema
}

// JSONKind is the content type of JSON.
const JSONKind = "application/json"

// None is a request that takes nothing, or an answer without a body.
type None struct{}

// On makes a route of a handler that knows no HTTP: a request struct in, an answer struct out.
func On[L Server, Request, Answer any](method, path, summary string,
	run func(L, context.Context, *Request) (Answer, error),
) Route[L] {
	r := newRoute[L](method, path, summary, reflect.TypeFor[Request]())
	var answer Answer
	switch any(answer).(type) {
	case None:
		r.status = http.StatusNoContent
	default:
		r.answers = []Media{{Kind: JSONKind, Answer: answer}}
	}
	r.serve = func(l L, r *Route[L], ec echo.Context) error {
		in := new(Request)
		if err := r.decoder.decode(l, ec, in); err != nil {
			return err
		}
		out, err := run(l, ec.Request().Context(), in)
		if c, ok := any(&out).(Charged); ok {
			l.Wire().Charge(ec, c.Receipt())
		}
		if err != nil {
			return err
		}
		return Send(l.Wire(), ec, r.status, &out)
	}
	return r
}

// Raw makes a route of a handler that writes its answer by itself, for example as a stream. As declares the
// forms of the answer.
func Raw[L Server, Request any](method, path, summary string,
	run func(L, echo.Context, *Request) error,
) Route[L] {
	r := newRoute[L](method, path, summary, reflect.TypeFor[Request]())
	r.serve = func(l L, r *Route[L], ec echo.Context) error {
		in := new(Request)
		if err := r.decoder.decode(l, ec, in); err != nil {
			return err
		}
		return run(l, ec, in)
	}
	return r
}

func newRoute[L Server](method, path, summary string, request reflect.Type) Route[L] {
	return Route[L]{Method: method, Path: path, Summary: summary, Request: request, status: http.StatusOK,
		decoder: decoderOf[L](request)}
}

// Public serves the route without the master key.
func (r Route[L]) Public() Route[L] {
	r.public = true
	return r
}

// Answering sets the status of the route's success, and others that it may have instead.
func (r Route[L]) Answering(status int, other ...int) Route[L] {
	r.status, r.other = status, other
	return r
}

// Failing declares statuses of the route's failures.
func (r Route[L]) Failing(statuses ...int) Route[L] {
	r.fails = statuses
	return r
}

// As declares other forms of the route's answer than JSON.
func (r Route[L]) As(answers ...Media) Route[L] {
	r.answers = answers
	return r
}

// Charged is an answer that reports what the request did and cost, after a failure as well.
type Charged interface {
	Receipt() store.Receipt
}

// Graded is an answer with a status of its own.
type Graded interface {
	StatusCode() int
}

// Headed is an answer that sets headers.
type Headed interface {
	SetHeaders(http.Header)
}

// Verbatim is an answer that holds what clients have written, which is passed on unchanged: the letters that
// HTML reserves are not escaped in it.
type Verbatim interface {
	Verbatim()
}

// Text is an answer that is not JSON.
type Text struct {
	Kind string // the content type
	Body []byte
}

// Send sends an answer, which is given by its address.
func Send(w Wire, ec echo.Context, status int, out any) error {
	if g, ok := out.(Graded); ok {
		status = g.StatusCode()
	}
	if h, ok := out.(Headed); ok {
		h.SetHeaders(ec.Response().Header())
	}
	switch t := out.(type) {
	case *None:
		return w.Answer(ec, status, nil)
	case *Text:
		ec.Response().Header()["Content-Type"] = []string{t.Kind}
		return w.Answer(ec, status, t.Body)
	}
	marshal := json.Marshal
	if _, ok := out.(Verbatim); ok {
		marshal = jsondoc.Marshal
	}
	body, err := marshal(out)
	if err != nil {
		return err
	}
	return w.Answer(ec, status, body)
}

// Register adds the route to a group, with open around a public route and keyed around any other. A route for
// GET answers HEAD as well.
func (r Route[L]) Register(g *echo.Group, l L, open, keyed echo.MiddlewareFunc) {
	around := keyed
	if r.public {
		around = open
	}
	path := strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
	handle := func(ec echo.Context) error { return r.serve(l, &r, ec) }
	g.Add(r.Method, path, handle, around)
	if r.Method == http.MethodGet {
		g.Add(http.MethodHead, path, handle, around)
	}
}
