package store

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/ttl"
)

// scriptWorld is what scripts see of the world: the data clock, and time limits by a clock that nobody sets.
func (c *Container) scriptWorld() script.Env {
	return script.Env{Now: c.d.Now, Random: rand.Float64, After: ttl.Real{}.After, Elapsed: c.ds.in.Elapsed()}
}

// scriptText is the JavaScript of a script's resource.
func scriptText(r Resource) string { return jsondoc.Of(r.Body).Member("body").Str() }

func scriptVersionOf(r *Resource) scriptVersion { return scriptVersion{r.RID, r.ETag, r.ID} }

// functions are the user defined functions of one run of a query. They share one runtime, which is made when
// the first is called, and one limit of time.
type functions struct {
	c       *Container
	ctx     context.Context
	runtime *script.Runtime
	made    map[string]*function
}

// function is one of them, and its longest call.
type function struct {
	*script.Function
	resource Resource
	longest  time.Duration
	err      error // of its last call
}

// call is query.Env's UDF.
func (f *functions) call(name string, args []jsondoc.Value) (jsondoc.Value, error) {
	fn := f.made[name]
	if fn == nil {
		var err error
		if fn, err = f.make(name); err != nil {
			return jsondoc.Value{}, err
		}
	}
	elapsed := f.c.ds.in.Elapsed()
	v, err := fn.Call(args)
	fn.longest, fn.err = max(fn.longest, elapsed()), err
	return v, err
}

func (f *functions) make(name string) (*function, error) {
	res, err := f.c.Resources(KindFunction).Read(name)
	if err != nil {
		return nil, &query.Error{Message: "The user defined function '" + name + "' does not exist.",
			Style: query.Unplaced}
	}
	if err := f.c.violations.admit(scriptVersionOf(&res), "resources"); err != nil {
		return nil, err
	}
	if f.runtime == nil {
		if f.runtime, err = f.c.ds.programs.Open(f.ctx, f.c.scriptWorld(),
			script.Limits{Time: f.c.ds.opts.ScriptTime}); err != nil {
			return nil, err
		}
		f.made = make(map[string]*function)
	}
	compiled, err := f.runtime.Function(name, scriptText(res))
	if err != nil {
		return nil, err
	}
	fn := &function{Function: compiled, resource: res}
	f.made[name] = fn
	return fn, nil
}

// close ends the runtime, if there is one, and takes up how the functions have kept to their limits.
func (f *functions) close() {
	for _, fn := range f.made {
		f.c.violations.note(scriptVersionOf(&fn.resource), fn.longest, f.c.ds.opts.ScriptTime, fn.err)
	}
	if f.runtime != nil {
		f.runtime.Close()
	}
}
