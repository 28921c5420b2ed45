package httpapi

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/labstack/echo/v4"
)

// profiling adds the profiles of Go's runtime, under /debug/pprof as all Go programs have them. They tell of
// what is in memory, so that they need the key like all else, and a flag.
func (s *Server) profiling(e *echo.Echo, keyed echo.MiddlewareFunc) {
	if !s.opt.Profiles {
		return
	}
	handle := func(ec echo.Context) error {
		run := pprof.Index // which has the profiles by name, too
		switch strings.TrimPrefix(ec.Request().URL.Path, "/debug/pprof/") {
		case "cmdline":
			run = pprof.Cmdline
		case "profile":
			run = pprof.Profile
		case "symbol":
			run = pprof.Symbol
		case "trace":
			run = pprof.Trace
		}
		run(ec.Response(), ec.Request())
		return nil
	}
	e.Add(http.MethodGet, "/debug/pprof", handle, keyed)
	e.Add(http.MethodGet, "/debug/pprof/*", handle, keyed)
}
