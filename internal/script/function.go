package script

import (
	"github.com/dop251/goja"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Function is a user defined function that has been loaded into a Runtime. It can access only its arguments.
type Function struct {
	r    *Runtime
	call goja.Callable
}

// Function loads a script that is a function. id names it in stack traces. The error is an *Error or a
// *SizeOrMemoryLimitError.
func (r *Runtime) Function(id, source string) (*Function, error) {
	p, err := r.programs.compile(id, source)
	if err != nil {
		return nil, err
	}
	f := &Function{r: r}
	if err := r.runJob(func() (err error) {
		f.call, err = r.load(id, p)
		return err
	}); err != nil {
		return nil, err
	}
	return f, nil
}

// load runs the top-level code of a compiled script, and returns the function that the script defines.
func (r *Runtime) load(id string, p *compiledScript) (goja.Callable, error) {
	v, err := r.js.RunProgram(p.code)
	if err != nil {
		return nil, err
	}
	if p.main != "" {
		v = r.js.Get(p.main)
	}
	f, ok := goja.AssertFunction(v)
	if !ok {
		return nil, &Error{Exception: "TypeError: the script '" + id + "' is not a function",
			Number: CompileNumber}
	}
	return f, nil
}

// Call calls the function. If the result has no JSON form, Call returns undefined. The error is an *Error, a
// *TimeoutError, a *SizeOrMemoryLimitError, or the error of the context. After an error other than *Error,
// the Runtime must not be used any more.
func (f *Function) Call(args []jsondoc.Value) (result jsondoc.Value, err error) {
	out := new(jsondoc.Value) // result is not used here, since an abandoned script may still write to it
	err = f.r.runJob(func() error {
		list := make([]goja.Value, len(args))
		for i, a := range args {
			list[i] = f.r.toJS(a)
		}
		v, err := f.call(goja.Undefined(), list...)
		if err != nil {
			return err
		}
		*out = jsondoc.Of(f.r.encodeResult(v))
		return nil
	})
	if err != nil {
		return jsondoc.Value{}, err
	}
	return *out, nil
}

// encodeResult encodes a script's value as JSON. It returns nil for undefined, functions and symbols. If the
// JSON text is too large, it panics with a *SizeOrMemoryLimitError.
func (r *Runtime) encodeResult(v goja.Value) []byte {
	e := &jsonEncoder{r: r, limit: r.limits.Result, outward: true}
	if !e.root(v) {
		return nil
	}
	return e.out
}
