package script

import (
	"github.com/dop251/goja"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Function is a script's function in a Runtime: a user defined function, which sees its arguments and nothing
// else.
type Function struct {
	r    *Runtime
	call goja.Callable
}

// Function makes the function that a script is. id names it in stack traces. The error is an *Error or a
// *TooLargeError.
func (r *Runtime) Function(id, source string) (*Function, error) {
	p, err := r.programs.compile(id, source)
	if err != nil {
		return nil, err
	}
	f := &Function{r: r}
	if err := r.guard(func() (err error) {
		f.call, err = r.load(id, p)
		return err
	}); err != nil {
		return nil, err
	}
	return f, nil
}

// load runs a program and finds its function.
func (r *Runtime) load(id string, p *program) (goja.Callable, error) {
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

// Call calls the function. The result is undefined where it is not JSON. The error is an *Error, a
// *TimeoutError, a *TooLargeError, or the end of the context; after the latter three the Runtime is of no
// more use.
func (f *Function) Call(args []jsondoc.Value) (result jsondoc.Value, err error) {
	out := new(jsondoc.Value) // not result: a script that is left behind may still write to it
	err = f.r.guard(func() error {
		list := make([]goja.Value, len(args))
		for i, a := range args {
			list[i] = f.r.toJS(a)
		}
		v, err := f.call(goja.Undefined(), list...)
		if err != nil {
			return err
		}
		*out = jsondoc.Of(f.r.give(v))
		return nil
	})
	if err != nil {
		return jsondoc.Value{}, err
	}
	return *out, nil
}

// give takes a value out of the script: JSON text, or nil where it has none: undefined, a function, a symbol.
// It panics with a *TooLargeError.
func (r *Runtime) give(v goja.Value) []byte {
	e := &encoder{r: r, limit: r.limits.Result, outward: true}
	if !e.root(v) {
		return nil
	}
	return e.out
}
