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

// maxProfileSeconds is how long a profile can be taken.
const maxProfileSeconds = 600

// profiling adds the profiles of Go's runtime, under /debug/pprof as all Go programs have them. They tell of
// what is in memory, so that they need the key like all else, and a flag. What package pprof would refuse in
// its own form is refused in this server's: a profile that there is not, one that takes too long, and a
// second one of those of which the runtime takes one at a time.
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
		run := pprof.Index // which has the profiles by name, too
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
