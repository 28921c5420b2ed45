package httpapi

import (
	"net/http"
	"net/http/pprof"
	runtime "runtime/pprof"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// maxProfileSeconds is the maximum duration of a profile.
const maxProfileSeconds = 600

// profiling adds the profiles of Go's runtime under /debug/pprof, the usual path of Go programs. They reveal
// contents of memory, so they need both the master key and Options.Profiles. In three cases the error has
// the form of this server's errors, not of package pprof's: an unknown profile, a duration that is too long,
// and a second CPU profile or trace at the same time.
func (s *Server) profiling(e *echo.Echo, keyed echo.MiddlewareFunc) {
	if !s.opt.Profiles {
		return
	}
	taken := map[string]chan struct{}{"profile": make(chan struct{}, 1), "trace": make(chan struct{}, 1)}
	handle := func(ec echo.Context) error {
		name := strings.TrimPrefix(strings.TrimPrefix(ec.Request().URL.Path, "/debug/pprof"), "/")
		if text := ec.QueryParam("seconds"); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || !(n > 0 && n <= maxProfileSeconds) {
				return cosmos.Failure(http.StatusBadRequest, 0,
					"'seconds' must be a number above 0 and at most "+strconv.Itoa(maxProfileSeconds)+".")
			}
		}
		if one := taken[name]; one != nil {
			select {
			case one <- struct{}{}:
				defer func() { <-one }()
			default:
				return cosmos.Failure(http.StatusConflict, 0, "Somebody else takes a "+name+" now.")
			}
		}
		run := pprof.Index // also serves profiles by name
		switch name {
		case "cmdline":
			run = pprof.Cmdline
		case "profile":
			run = pprof.Profile
		case "symbol":
			run = pprof.Symbol
		case "trace":
			run = pprof.Trace
		case "":
		default:
			if runtime.Lookup(name) == nil {
				return cosmos.NotFound("There is no profile '" + name + "'.")
			}
		}
		run(ec.Response(), ec.Request())
		return nil
	}
	e.Add(http.MethodGet, "/debug/pprof", handle, keyed)
	e.Add(http.MethodGet, "/debug/pprof/*", handle, keyed)
}
