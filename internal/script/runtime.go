package script

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
)

// TimeAndRandomSource provides the time, the timers and the random numbers of a script. Its functions are
// called by the goroutine of the Runtime and by that of the caller. An abandoned script may call them even
// after Close.
type TimeAndRandomSource struct {
	Now     func() time.Time     // returns the time of JavaScript's Date
	Random  func() float64       // returns the result of Math.random, in [0, 1)
	Elapsed func() time.Duration // returns the monotonic time since any fixed time
	// After returns a channel that receives a value once, after a duration. stop releases the timer before
	// that.
	After func(time.Duration) (c <-chan time.Time, stop func())
}

// DefaultTime is the time limit of a script if Limits.Time is 0.
const DefaultTime = 5 * time.Second

// Limits are the limits of one Runtime. A zero field means its default.
type Limits struct {
	Time   time.Duration // running time in all calls together; 0: 5 s
	Memory int64         // growth of the heap in bytes; 0: 256 MB
	Calls  int           // depth of the call stack; 0: 2,000
	// Grace is the time within which a stopped script has to end before it is abandoned; 0: 1 s.
	Grace  time.Duration
	Result int // size of a result in bytes of JSON; 0: 4 MB
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

// Limits of single values within a script.
const (
	maxElements = 1 << 20  // elements of an array passed to a built-in function
	maxSpread   = 64 << 10 // elements of an array that is spread into arguments
	maxText     = 16 << 20 // UTF-16 units of a string
	// maxHard is the maximum length, in UTF-16 units, of a string that is passed to a built-in function which
	// does much work for each unit.
	maxHard    = 64 << 10
	maxPattern = 16 << 10 // UTF-16 units of a regular expression
	// maxWork is the maximum number of steps of one call of a built-in function that searches in strings.
	maxWork = 100e6
)

// Runtime runs scripts in one isolated JavaScript environment. Changes that a script makes, also to built-in
// objects, are visible only to later scripts of the same Runtime. It is not safe for concurrent use and must
// be closed.
type Runtime struct {
	programs *ScriptCache
	js       *goja.Runtime
	env      TimeAndRandomSource
	limits   Limits
	ctx      context.Context // the Runtime ends with it
	executor *interpreterGoroutine
	hosted   bool            // the Runtime runs a procedure, which has a host
	hostCtx  context.Context // context of the host's operations in the current call

	since   atomic.Int64 // Elapsed at the start of the current call; or idle
	spent   atomic.Int64 // duration of the earlier calls
	stopped atomic.Bool

	matchers map[string]*regexpMatcher // by flags and source

	// heap measures how much the process's heap has grown since the script began. heap and the fields after
	// it are used only by the goroutine that calls the Runtime.
	heap      heapGrowthMeter
	tick      <-chan time.Time // time of the next check of the limits, which may be during a later call
	release   func()           // releases tick
	why       error            // the reason why the script was stopped
	stoppedAt time.Duration    // Elapsed at the stop
}

const idle = -1

// Open returns a Runtime. Its script is stopped when ctx ends. The error is a *TooManyAbandonedScriptsError
// if there are too many abandoned scripts.
func (p *ScriptCache) Open(ctx context.Context, env TimeAndRandomSource, limits Limits) (*Runtime, error) {
	if n := p.Stuck(); n >= maxStuck {
		return nil, &TooManyAbandonedScriptsError{n}
	}
	r := &Runtime{programs: p, js: goja.New(), env: env, limits: limits.withDefaults(), ctx: ctx,
		executor: openExecutor()}
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

// stringifyCall is the native function of JSON.stringify(value, function, names, indent). The sandbox has
// prepared the arguments.
func (r *Runtime) stringifyCall(call goja.FunctionCall) goja.Value {
	e := &jsonEncoder{r: r, limit: maxText, indent: call.Argument(3).String()}
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

// call calls a JavaScript function from native code, and rethrows its exceptions.
func (r *Runtime) call(f goja.Callable, this goja.Value, args ...goja.Value) goja.Value {
	v, err := f(this, args...)
	if err != nil {
		panic(err)
	}
	return v
}

// check is called in long native loops. It ends the script if it was stopped.
func (r *Runtime) check() {
	if r.stopped.Load() {
		_, err := r.js.RunString("0") // triggers the interrupt
		if err != nil {
			panic(err)
		}
	}
}

// bound returns the result of a string addition, or ends the script if it is too long.
func (r *Runtime) bound(call goja.FunctionCall) goja.Value {
	v := call.Argument(0)
	if s, ok := v.(goja.String); ok && s.Length() > maxText {
		r.interrupt(&SizeOrMemoryLimitError{What: TooLargeMemory, Limit: r.limits.Memory})
		r.check()
	}
	return v
}

func (r *Runtime) rangeError(text string) goja.Value { return r.newError("RangeError", text) }

func (r *Runtime) syntaxError(text string) goja.Value { return r.newError("SyntaxError", text) }

// newError returns a new JavaScript error of a built-in kind.
func (r *Runtime) newError(kind, text string) goja.Value {
	o, err := r.js.New(r.js.Get(kind), r.js.ToValue(text))
	if err != nil { // the script has replaced the constructor
		return r.js.ToValue(kind + ": " + text)
	}
	return o
}

// asError converts the value of a panic to an error: an error or exception of the interpreter, or an
// InterpreterPanicError.
func asError(x any) error {
	switch x := x.(type) {
	case error:
		return x
	case *goja.Object:
		return &Error{Exception: x.String()}
	case goja.Value:
		return &Error{Exception: x.String()}
	}
	return &InterpreterPanicError{x}
}
