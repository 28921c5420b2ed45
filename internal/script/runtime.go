package script

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
)

// Env is the world of a script: it has no other. Its functions are called by the goroutine of the Runtime and
// by the one that waits for it; by a script that had to be left behind even after Close.
type Env struct {
	Now     func() time.Time     // what dates say
	Random  func() float64       // what Math.random says: in [0, 1)
	Elapsed func() time.Duration // since some moment, by a clock that nobody sets
	// After sends once after that time; stop releases the timer early.
	After func(time.Duration) (c <-chan time.Time, stop func())
}

// DefaultTime is how long a script may run where Limits do not say.
const DefaultTime = 5 * time.Second

// Limits bound one Runtime. A field that is zero stands for its default.
type Limits struct {
	Time   time.Duration // in the script, over all calls; 5 s
	Memory int64         // bytes that the heap may grow by; 256 MB
	Calls  int           // depth of the call stack; 2,000
	// Grace is how long a script may take to notice that it was stopped, before it is left behind; 1 s.
	Grace  time.Duration
	Result int // bytes of JSON that a call may give out; 4 MB
}

func (l Limits) withDefaults() Limits {
	if l.Time <= 0 {
		l.Time = DefaultTime
	}
	if l.Memory <= 0 {
		l.Memory = 256 << 20
	}
	if l.Grace <= 0 {
		l.Grace = time.Second
	}
	if l.Calls <= 0 {
		l.Calls = 2000
	}
	if l.Result <= 0 {
		l.Result = 4 << 20
	}
	return l
}

// Bounds of single values inside a script.
const (
	maxElements = 1 << 20  // of an array that a built-in function works on
	maxSpread   = 64 << 10 // of an array whose elements become arguments
	maxText     = 16 << 20 // UTF-16 units of a string
	maxHard     = 64 << 10 // UTF-16 units of a string, for work that is long for each of them
	maxPattern  = 16 << 10 // UTF-16 units of a regular expression
	// steps of one call of a built-in function, where texts meet patterns or other texts
	maxWork = 100e6
)

// Runtime runs scripts in one world of their own: what one changes in it, the built-in objects included, the
// next one in the same Runtime sees, and nobody else. It is used by one goroutine at a time and must be
// closed.
type Runtime struct {
	programs *Programs
	js       *goja.Runtime
	env      Env
	limits   Limits
	ctx      context.Context // the Runtime ends with it
	room     *room
	hosted   bool            // it has a host
	hostCtx  context.Context // of what the host does in the present call

	since   atomic.Int64 // Elapsed when the present call began, or idle
	spent   atomic.Int64 // in calls before
	stopped atomic.Bool

	matchers map[string]*matcher // by flags and source

	// Of the caller.
	heap      heapMeter
	tick      <-chan time.Time // the next look at the script, whichever call that falls into
	release   func()           // releases tick
	why       error            // why the script was stopped
	stoppedAt time.Duration    // Elapsed then
}

const idle = -1

// Open makes a Runtime. It is stopped when ctx ends. The error is a *BusyError where too many scripts had to
// be left behind.
func (p *Programs) Open(ctx context.Context, env Env, limits Limits) (*Runtime, error) {
	if n := p.Stuck(); n >= maxStuck {
		return nil, &BusyError{n}
	}
	r := &Runtime{programs: p, js: goja.New(), env: env, limits: limits.withDefaults(), ctx: ctx,
		room: openRoom()}
	r.since.Store(idle)
	r.js.SetTimeSource(env.Now)
	r.js.SetRandSource(env.Random)
	r.js.SetMaxCallStackSize(r.limits.Calls)
	code, err := p.sandbox.get(sandboxFile, sandboxText)
	if err != nil {
		return nil, err
	}
	if err := r.fence(code); err != nil {
		return nil, err
	}
	r.heap.start(r.limits.Memory)
	go r.work()
	return r, nil
}

// stringifyCall is JSON.stringify(value, function, names, indent), with arguments that the sandbox has
// prepared.
func (r *Runtime) stringifyCall(call goja.FunctionCall) goja.Value {
	e := &encoder{r: r, limit: maxText, indent: call.Argument(3).String()}
	if f, ok := goja.AssertFunction(call.Argument(1)); ok {
		e.replacer = f
	}
	if list, ok := call.Argument(2).(*goja.Object); ok {
		e.only = []string{}
		r.js.ForOf(list, func(name goja.Value) bool {
			e.only = append(e.only, name.String())
			return true
		})
	}
	if !e.root(call.Argument(0)) {
		return goja.Undefined()
	}
	return r.js.ToValue(string(e.out))
}

// call calls a function of the script from a native one: what it throws goes on.
func (r *Runtime) call(f goja.Callable, this goja.Value, args ...goja.Value) goja.Value {
	v, err := f(this, args...)
	if err != nil {
		panic(err)
	}
	return v
}

// check is called where native code runs long: it stops the script where the watch has asked for it.
func (r *Runtime) check() {
	if r.stopped.Load() {
		_, err := r.js.RunString("0") // meets the interrupt
		if err != nil {
			panic(err)
		}
	}
}

// bound passes on what an addition of texts has made, where it is not too long: that is the end of the
// script.
func (r *Runtime) bound(call goja.FunctionCall) goja.Value {
	v := call.Argument(0)
	if s, ok := v.(goja.String); ok && s.Length() > maxText {
		r.interrupt(&TooLargeError{What: TooLargeMemory, Limit: r.limits.Memory})
		r.check()
	}
	return v
}

func (r *Runtime) rangeError(text string) goja.Value { return r.newError("RangeError", text) }

func (r *Runtime) syntaxError(text string) goja.Value { return r.newError("SyntaxError", text) }

// newError makes an error of one of the language's kinds.
func (r *Runtime) newError(kind, text string) goja.Value {
	o, err := r.js.New(r.js.Get(kind), r.js.ToValue(text))
	if err != nil { // the script has put something else in its place
		return r.js.ToValue(kind + ": " + text)
	}
	return o
}

// asError turns what a panic carried into an error: the interpreter's own errors, or a fault of it.
func asError(x any) error {
	switch x := x.(type) {
	case error:
		return x
	case *goja.Object:
		return &Error{Exception: x.String()}
	case goja.Value:
		return &Error{Exception: x.String()}
	}
	return &FaultError{x}
}
