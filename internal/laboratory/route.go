package laboratory

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

// route is a row of the table.
type route struct {
	method  string
	path    string // "/_mayfly/dbs/{db}/clock"
	summary string // a line for people, without a full stop
	open    bool   // it needs no key
	status  int    // of its success
	other   []int  // statuses of its success that it may have instead
	fails   []int  // statuses of its failures, beside those that all routes with such a request have
	request reflect.Type
	answers []media // of its success
	serve   func(l *Laboratory, r *route, ec echo.Context) error
}

// media is a form of an answer.
type media struct {
	kind    string // of its content
	answer  any    // a value of its type; nil: text that no schema describes
	explain string
}

const jsonKind = "application/json"

// none is a request that takes nothing, or an answer without a body.
type none struct{}

// on makes a row of a handler that knows no HTTP: a request struct in, an answer struct out.
func on[Request, Answer any](method, path, summary string,
	run func(*Laboratory, context.Context, *Request) (Answer, error),
) route {
	request := reflect.TypeFor[Request]()
	p := planOf(request)
	r := route{method: method, path: path, summary: summary, status: http.StatusOK, request: request}
	var answer Answer
	switch any(answer).(type) {
	case none:
		r.status = http.StatusNoContent
	default:
		r.answers = []media{{kind: jsonKind, answer: answer}}
	}
	r.serve = func(l *Laboratory, r *route, ec echo.Context) error {
		in := new(Request)
		if err := p.decode(l, ec, in); err != nil {
			return err
		}
		out, err := run(l, ec.Request().Context(), in)
		if c, ok := any(&out).(charged); ok {
			l.opt.Wire.Charge(ec, c.charge())
		}
		if err != nil {
			return err
		}
		return l.answer(ec, r.status, &out)
	}
	return r
}

// toAll makes a row open: it needs no key.
func (r route) toAll() route {
	r.open = true
	return r
}

// answering sets the status of a row's success, and others that it may have instead.
func (r route) answering(status int, other ...int) route {
	r.status, r.other = status, other
	return r
}

// failing names statuses of a row's failures.
func (r route) failing(statuses ...int) route {
	r.fails = statuses
	return r
}

// as makes other forms of a row's answer than JSON.
func (r route) as(answers ...media) route {
	r.answers = answers
	return r
}

// A charged answer reports what the request did and cost. It does so for one that has failed, too.
type charged interface {
	charge() store.Receipt
}

// A graded answer has a status of its own.
type graded interface {
	grade() int
}

// A headed answer sets headers.
type headed interface {
	head(http.Header)
}

// A verbatim answer holds what clients have written, which is passed on as it is: the letters that HTML
// reserves are not escaped in it.
type verbatim interface {
	verbatim()
}

// text is an answer that is no JSON.
type text struct {
	kind string
	body []byte
}

// answer sends an answer, which is given by its address.
func (l *Laboratory) answer(ec echo.Context, status int, out any) error {
	if g, ok := out.(graded); ok {
		status = g.grade()
	}
	if h, ok := out.(headed); ok {
		h.head(ec.Response().Header())
	}
	switch t := out.(type) {
	case *none:
		return l.opt.Wire.Answer(ec, status, nil)
	case *text:
		ec.Response().Header()["Content-Type"] = []string{t.kind}
		return l.opt.Wire.Answer(ec, status, t.body)
	}
	body, err := marshal(out)
	if err != nil {
		return err
	}
	return l.opt.Wire.Answer(ec, status, body)
}

func marshal(out any) ([]byte, error) {
	if _, ok := out.(verbatim); !ok {
		return json.Marshal(out)
	}
	return jsondoc.Marshal(out)
}

// register adds the row to a group. What can be read can be asked for its head alone.
func (r *route) register(g *echo.Group, l *Laboratory, open, keyed echo.MiddlewareFunc) {
	around := keyed
	if r.open {
		around = open
	}
	path := strings.NewReplacer("{", ":", "}", "").Replace(r.path)
	handle := func(ec echo.Context) error { return r.serve(l, r, ec) }
	g.Add(r.method, path, handle, around)
	if r.method == http.MethodGet {
		g.Add(http.MethodHead, path, handle, around)
	}
}
