package procedure

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/resource"
)

// scriptText returns the JavaScript source of a script resource.
func scriptText(r resource.UserOrScriptResource) string {
	return jsondoc.Of(r.Body).Member("body").Str()
}

func scriptVersionOf(r *resource.UserOrScriptResource) scriptVersion {
	return scriptVersion{r.RID, r.ETag, r.ID}
}

// QueryUDFRuntime are the user defined functions of one run of a query. They share one runtime, which is
// created at the first call, and one time limit.
type QueryUDFRuntime struct {
	run     *ScriptRunner
	ctx     context.Context
	runtime *script.Runtime
	made    map[string]*compiledFunction
}

// compiledFunction is a compiled user defined function with the duration of its longest call.
type compiledFunction struct {
	*script.Function
	resource resource.UserOrScriptResource
	longest  time.Duration
	err      error // error of the last call
}

// Functions returns the user defined functions of the container, for one run of a query.
func (x *ScriptRunner) Functions(ctx context.Context) *QueryUDFRuntime {
	return &QueryUDFRuntime{run: x, ctx: ctx}
}

// Call calls the user defined function with the given name.
func (f *QueryUDFRuntime) Call(name string, args []jsondoc.Value) (jsondoc.Value, error) {
	fn := f.made[name]
	if fn == nil {
		var err error
		if fn, err = f.make(name); err != nil {
			return jsondoc.Value{}, err
		}
	}
	elapsed := f.run.Elapsed()
	v, err := fn.Call(args)
	fn.longest, fn.err = max(fn.longest, elapsed()), err
	return v, err
}

func (f *QueryUDFRuntime) make(name string) (*compiledFunction, error) {
	res, err := f.run.Resources(record.KindFunction).Read(name)
	if err != nil {
		return nil, &query.Error{Message: "The user defined function '" + name + "' does not exist.",
			Style: query.Unplaced}
	}
	if err := f.run.Violations.admit(scriptVersionOf(&res), "resources"); err != nil {
		return nil, err
	}
	if f.runtime == nil {
		if f.runtime, err = f.run.Programs.Open(f.ctx, f.run.Env(),
			script.Limits{Time: f.run.Time}); err != nil {
			return nil, err
		}
		f.made = make(map[string]*compiledFunction)
	}
	compiled, err := f.runtime.Function(name, scriptText(res))
	if err != nil {
		return nil, err
	}
	fn := &compiledFunction{Function: compiled, resource: res}
	f.made[name] = fn
	return fn, nil
}

// Close closes the runtime, if there is one, and records which functions have exceeded the time limit: see
// violation_counts.go.
func (f *QueryUDFRuntime) Close() {
	for _, fn := range f.made {
		f.run.Violations.note(scriptVersionOf(&fn.resource), fn.longest, f.run.Time, fn.err)
	}
	if f.runtime != nil {
		f.runtime.Close()
	}
}
