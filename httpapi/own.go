package httpapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/laboratory"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
)

// Mayfly's own surface is package laboratory's. It has a router of its own behind the chain that every
// request goes through; here is what it needs of this server.

// newOwn mounts the laboratory.
func (s *Server) newOwn() http.Handler {
	lab := laboratory.New(s.db, laboratory.Options{
		Wire: ownWire{}, Wall: s.opt.Wall, Classify: ownFailure, Draining: s.draining.Done(),
		Trusted: func(ec echo.Context) bool { return s.authorise(callOf(ec)) == nil },
		Ready:   s.opt.Ready, CertPEM: s.opt.CertPEM,
		Webhooks: s.opt.Webhooks, CheckWebhook: s.opt.CheckWebhook, Queues: s.opt.Queues,
		Faults: s.opt.Faults, Requests: s.opt.Requests,
	})
	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	e.HTTPErrorHandler = func(err error, ec echo.Context) { ownOf(ec).err = err }
	keyed := func(next echo.HandlerFunc) echo.HandlerFunc { return s.authorising(s.receiving(next)) }
	lab.Register(e.Group(""), s.receiving, keyed)
	s.profiling(e, keyed)
	return e
}

// ownCall is a call for Mayfly's own surface.
type ownCall struct {
	*call
	err error // what became of it
}

// ownKey finds the ownCall in the context of a request.
type ownKey struct{}

func ownOf(ec echo.Context) *ownCall { return ec.Request().Context().Value(ownKey{}).(*ownCall) }

func callOf(ec echo.Context) *call { return ownOf(ec).call }

// serveOwn passes a request for Mayfly's own surface on. The router is given a path that is written the one
// way in which routes are.
func (s *Server) serveOwn(c *call) error {
	if read := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead; read && s.pages.Has(c.target.own) {
		return s.pages.Serve(c.w, c.r, c.target.own)
	}
	own := ownCall{call: c}
	r := c.r.WithContext(context.WithValue(c.ctx(), ownKey{}, &own))
	address := *r.URL
	address.RawPath = c.target.ownPath()
	r.URL = &address
	s.own.ServeHTTP(c.w, r)
	switch err := own.err; {
	case errors.Is(err, echo.ErrNotFound):
		return cosmos.NotFound("There is nothing at /" + c.target.own + ".")
	case errors.Is(err, echo.ErrMethodNotAllowed):
		delete(c.w.Header(), echo.HeaderAllow) // no other path of this server has it
		return c.methodNotAllowed()
	default:
		return ofLaboratory(err)
	}
}

// ofLaboratory is a failure of the laboratory as the wire has it: a 404 has the text that all have.
func ofLaboratory(err error) error {
	var own *route.Error
	switch {
	case !errors.As(err, &own):
		return err
	case own.Status == http.StatusNotFound:
		return cosmos.NotFound(own.Message)
	}
	return cosmos.Failure(own.Status, 0, own.Message)
}

// authorising lets in who has the master key.
func (s *Server) authorising(next echo.HandlerFunc) echo.HandlerFunc {
	return func(ec echo.Context) error {
		c := callOf(ec)
		if err := s.authorise(c); err != nil {
			return err
		}
		if c.headerErr != nil {
			return c.headerErr
		}
		return next(ec)
	}
}

// receiving reads the body and runs the request.
func (s *Server) receiving(next echo.HandlerFunc) echo.HandlerFunc {
	return func(ec echo.Context) error {
		c := callOf(ec)
		if err := c.readBody(); err != nil {
			return err
		}
		if err := c.req.DecodeBody(); err != nil {
			return err
		}
		var late error // behind the head of the answer
		err := s.ops.Steady(c.ctx(), func() error {
			err := next(ec)
			if c.w.Committed {
				late, err = err, nil
			}
			return err
		})
		return cmp.Or(err, late)
	}
}

// ownFailure is what the laboratory tells of a failure inside an answer.
func ownFailure(err error) laboratory.Failure {
	f, _ := cosmos.Classify(ofLaboratory(err))
	if f.Detail != "" {
		f.Message += " " + f.Detail
	}
	return laboratory.Failure{Status: f.Status, Substatus: f.Substatus, Message: f.Message}
}

// ownWire is the server as the laboratory sees it.
type ownWire struct{}

// Body implements route.Wire.
func (ownWire) Body(ec echo.Context) []byte { return callOf(ec).req.Body }

// Enter implements laboratory.Wire. The path names the container to the operations, too.
func (ownWire) Enter(ec echo.Context, _ *store.Database, _ *store.Container) error {
	c := callOf(ec)
	_, err := c.srv.ops.Container(c.ctx(), &c.req, &c.ans)
	return err
}

// Reserve implements laboratory.Wire.
func (ownWire) Reserve(ec echo.Context) error {
	c := callOf(ec)
	return c.srv.ops.HoldPage(c.ctx(), &c.req, &c.ans)
}

// Charge implements route.Wire.
func (ownWire) Charge(ec echo.Context, r store.Receipt) {
	c := callOf(ec)
	c.srv.ops.Receipt(c.ctx(), &c.req, &c.ans, r)
}

// Answer implements route.Wire.
func (ownWire) Answer(ec echo.Context, status int, body []byte) error {
	return callOf(ec).json(status, body)
}

// Stream implements laboratory.Wire.
func (ownWire) Stream(ec echo.Context) { callOf(ec).setHead() }
