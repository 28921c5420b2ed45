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

// Package laboratory serves Mayfly's own API, under /_mayfly. It has its own router, which is called after
// the chain that every request passes. This file connects it to the server.

// newLabHandler returns the handler of Mayfly's own API: package laboratory with its router.
func (s *Server) newLabHandler() http.Handler {
	lab := laboratory.New(s.db, laboratory.Options{
		Wire: laboratoryRequestAdapter{}, Wall: s.opt.Wall, Classify: labFailure, Draining: s.draining.Done(),
		Trusted: func(ec echo.Context) bool { return s.authorise(callOf(ec)) == nil },
		Ready:   s.opt.Ready, CertPEM: s.opt.CertPEM,
		Webhooks: s.opt.Webhooks, CheckWebhook: s.opt.CheckWebhook, Queues: s.opt.Queues,
		Faults: s.opt.Faults, Requests: s.opt.Requests, Connection: s.opt.Connection,
	})
	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	e.HTTPErrorHandler = func(err error, ec echo.Context) { labCallOf(ec).err = err }
	keyed := func(next echo.HandlerFunc) echo.HandlerFunc { return s.authorising(s.receiving(next)) }
	lab.Register(e.Group(""), s.receiving, keyed)
	s.profiling(e, keyed)
	return e
}

// activeMayflyAPIRequest is a request to Mayfly's own API in progress, with the error of its handler.
type activeMayflyAPIRequest struct {
	*activeRequest
	err error // the handler's error
}

// mayflyAPICallContextKey is the context key of an activeMayflyAPIRequest.
type mayflyAPICallContextKey struct{}

func labCallOf(ec echo.Context) *activeMayflyAPIRequest {
	return ec.Request().Context().Value(mayflyAPICallContextKey{}).(*activeMayflyAPIRequest)
}

func callOf(ec echo.Context) *activeRequest { return labCallOf(ec).activeRequest }

// serveLab passes a request to the router of Mayfly's own API. It first normalizes the path to the form that
// the routes have.
func (s *Server) serveLab(c *activeRequest) error {
	c.mapHead() // the handlers and pages of that API write their responses themselves
	if read := c.method == http.MethodGet || c.method == http.MethodHead; read &&
		s.pages.Has(c.target.labRoute) {
		return s.pages.Serve(c.w, c.r, c.target.labRoute)
	}
	own := activeMayflyAPIRequest{activeRequest: c}
	r := c.r.WithContext(context.WithValue(c.ctx(), mayflyAPICallContextKey{}, &own))
	address := *r.URL
	address.RawPath = c.target.labPath()
	r.URL = &address
	s.labHandler.ServeHTTP(c.w, r)
	switch err := own.err; {
	case errors.Is(err, echo.ErrNotFound):
		return cosmos.NotFound("There is nothing at /" + c.target.labRoute + ".")
	case errors.Is(err, echo.ErrMethodNotAllowed):
		delete(c.w.Header(), echo.HeaderAllow) // no other path of this server sends this header
		return c.methodNotAllowed()
	default:
		return ofLaboratory(err)
	}
}

// ofLaboratory converts an error of Mayfly's own API to an error in the form of Cosmos DB's protocol. The
// message of a 404 also contains the text that Cosmos DB has in every 404.
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

// authorising returns a handler that requires the master key and then calls next.
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

// receiving returns a handler that reads the body of the request and then calls next.
func (s *Server) receiving(next echo.HandlerFunc) echo.HandlerFunc {
	return func(ec echo.Context) error {
		c := callOf(ec)
		if err := c.readBody(); err != nil {
			return err
		}
		if err := c.req.DecodeBody(); err != nil {
			return err
		}
		var late error // error that occurred after the head of the response was sent
		err := s.ops.RetryAfterRestore(c.ctx(), func() error {
			err := next(ec)
			if c.w.Committed {
				late, err = err, nil
			}
			return err
		})
		return cmp.Or(err, late)
	}
}

// labFailure converts an error to the status and message that responses of Mayfly's own API contain for
// it.
func labFailure(err error) laboratory.ErrorResponse {
	f, _ := cosmos.Classify(ofLaboratory(err))
	if f.Detail != "" {
		f.Message += " " + f.Detail
	}
	return laboratory.ErrorResponse{Status: f.Status, Substatus: f.Substatus, Message: f.Message}
}

// laboratoryRequestAdapter implements laboratory.EnclosingHTTPServer: the functions of this server that
// package laboratory uses.
type laboratoryRequestAdapter struct{}

// Body implements route.RequestIO, a part of laboratory.EnclosingHTTPServer: it returns the body of the
// request.
func (laboratoryRequestAdapter) Body(ec echo.Context) []byte { return callOf(ec).req.Body }

// Enter implements laboratory.EnclosingHTTPServer: it opens the container that the request's path names and
// sets it as the owner in the response. It ignores the other arguments, which are the same container.
func (laboratoryRequestAdapter) Enter(ec echo.Context, _ *store.Database, _ *store.Container) error {
	c := callOf(ec)
	_, err := c.srv.ops.Container(c.ctx(), &c.req, &c.ans)
	return err
}

// Reserve implements laboratory.EnclosingHTTPServer: it waits until there is memory for a large response and
// reserves it.
func (laboratoryRequestAdapter) Reserve(ec echo.Context) error {
	c := callOf(ec)
	return c.srv.ops.HoldPage(c.ctx(), &c.req, &c.ans)
}

// Charge implements route.RequestIO, a part of laboratory.EnclosingHTTPServer: it adds the cost of an
// operation, and its LSN (log sequence number), to the response.
func (laboratoryRequestAdapter) Charge(ec echo.Context, r store.OperationReceipt) {
	c := callOf(ec)
	c.srv.ops.Receipt(c.ctx(), &c.req, &c.ans, r)
}

// Answer implements route.RequestIO, a part of laboratory.EnclosingHTTPServer: it sends a response with a
// status and a body.
func (laboratoryRequestAdapter) Answer(ec echo.Context, status int, body []byte) error {
	return callOf(ec).json(status, body)
}

// Stream implements laboratory.EnclosingHTTPServer: it sets the headers of a response whose body is streamed.
func (laboratoryRequestAdapter) Stream(ec echo.Context) { callOf(ec).setHead() }
