package script

import (
	"context"
	_ "embed" // the scripts of this package
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
)

// Env is the world of a script: it has no other. All are called by one goroutine at a time but Elapsed and After, which
// are also called by the one that watches.
type Env struct {
	Now     func() time.Time     // what dates say
	Random  func() float64       // what Math.random says: in [0, 1)
	Elapsed func() time.Duration // since some moment, by a clock that nobody sets
	// After sends once after that time; stop releases the timer early.
	After func(time.Duration) (c <-chan time.Time, stop func())
}

// Limits bound one Runtime. A field that is zero stands for its default.
type Limits struct {
	Time   time.Duration // in the script, over all calls; 5 s
	Memory int64         // bytes that the heap may grow by; 256 MB
	Calls  int           // depth of the call stack; 2,000
	Result int           // bytes of JSON that a call may give out; 4 MB
}

func (l Limits) withDefaults() Limits {
	if l.Time <= 0 {
		l.Time = 5 * time.Second
	}
	if l.Memory <= 0 {
		l.Memory = 256 << 20
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
	maxElements = 4 << 20  // of an array that a built-in function works on
	maxText     = 16 << 20 // UTF-16 units of a string that a built-in function makes
)

// Runtime runs scripts in one world of their own: what one changes in it, the built-in objects included, the next one in the
// same Runtime sees, and nobody else. It belongs to one goroutine and must be closed.
type Runtime struct {
	programs *Programs
	js       *goja.Runtime
	env      Env
	limits   Limits

	// The watch is a goroutine that stops the script when its time or its memory is used up: it alone can, while a call runs.
	quit, done chan struct{}
	since      atomic.Int64 // Elapsed when the present call began, or idle
	spent      atomic.Int64 // in calls before
	stopped    atomic.Bool
	heap       heapMeter
}

const idle = -1

//go:embed sandbox.js
var sandboxText string

const sandboxFile = "sandbox"

// Open makes a Runtime. It is stopped when ctx ends.
func (p *Programs) Open(ctx context.Context, env Env, limits Limits) (*Runtime, error) {
	r := &Runtime{programs: p, js: goja.New(), env: env, limits: limits.withDefaults(),
		quit: make(chan struct{}), done: make(chan struct{})}
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
	r.heap.start()
	go r.watch(ctx)
	return r, nil
}

// Close ends the watch and waits for it.
func (r *Runtime) Close() {
	close(r.quit)
	<-r.done
}

// fence runs the sandbox script.
func (r *Runtime) fence(code *goja.Program) error {
	v, err := r.js.RunProgram(code)
	if err != nil {
		return err
	}
	setup, _ := goja.AssertFunction(v)
	native := r.js.NewObject()
	for name, value := range map[string]any{
		"maxElements": maxElements, "maxText": maxText,
		"parse":     func(call goja.FunctionCall) goja.Value { return r.parse(call.Argument(0).String()) },
		"stringify": r.stringifyCall,
	} {
		if err := native.Set(name, value); err != nil {
			return err
		}
	}
	_, err = setup(r.js.GlobalObject(), native)
	return err
}

// stringifyCall is JSON.stringify(value, function, names, indent), with arguments that the sandbox has prepared.
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

// guard runs fn as one call of the script, under the watch. Whatever goes wrong inside is an error: what the script threw, why
// it was stopped, or a fault of the interpreter.
func (r *Runtime) guard(fn func() error) (err error) {
	r.since.Store(int64(r.env.Elapsed()))
	defer func() {
		if x := recover(); x != nil {
			err = r.failure(asError(x))
		}
		r.spent.Add(int64(r.env.Elapsed()) - r.since.Swap(idle))
	}()
	if err := fn(); err != nil {
		return r.failure(err)
	}
	return nil
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

// taken is how long the script has run, over all calls.
func (r *Runtime) taken() time.Duration {
	taken := r.spent.Load()
	if since := r.since.Load(); since != idle {
		taken += int64(r.env.Elapsed()) - since
	}
	return time.Duration(taken)
}

// watchEvery is how often the watch looks.
const watchEvery = 5 * time.Millisecond

// watch stops the script when it must end. It ends with Close.
func (r *Runtime) watch(ctx context.Context) {
	defer close(r.done)
	for {
		tick, release := r.env.After(watchEvery)
		select {
		case <-r.quit:
			release()
			return
		case <-ctx.Done():
			release()
			r.stop(ctx.Err())
			<-r.quit
			return
		case <-tick:
		}
		if err := r.overdue(); err != nil {
			r.stop(err)
			<-r.quit
			return
		}
	}
}

func (r *Runtime) stop(why error) {
	r.stopped.Store(true)
	r.js.Interrupt(interruption{why})
}

// overdue tells why the script must end, or nil.
func (r *Runtime) overdue() error {
	switch {
	case r.taken() > r.limits.Time:
		return &TimeoutError{r.limits.Time}
	case r.since.Load() != idle && r.heap.over(r.limits.Memory):
		return &TooLargeError{What: TooLargeMemory, Limit: r.limits.Memory}
	}
	return nil
}

// heapMeter tells how much the process has come to hold since a script began. There is no meter for one goroutine, so what
// others come to hold in these moments counts, too; what matters is that the process is not brought down. Garbage does not
// count: when the heap looks too large it is collected first, and what is left decides.
type heapMeter struct {
	samples [3]metrics.Sample
	base    int64
}

const (
	heapObjects = "/memory/classes/heap/objects:bytes"
	heapStacks  = "/memory/classes/heap/stacks:bytes"
	heapLive    = "/gc/heap/live:bytes"
)

func (m *heapMeter) start() {
	for i, name := range []string{heapObjects, heapStacks, heapLive} {
		m.samples[i].Name = name
	}
	used, _ := m.read()
	m.base = used
}

// read returns the bytes in use, garbage included, and those that the last collection left.
func (m *heapMeter) read() (used, live int64) {
	metrics.Read(m.samples[:])
	stacks := int64(m.samples[1].Value.Uint64())
	return int64(m.samples[0].Value.Uint64()) + stacks, int64(m.samples[2].Value.Uint64()) + stacks
}

// over tells whether more bytes than the limit are held beyond what was held at the start.
func (m *heapMeter) over(limit int64) bool {
	used, _ := m.read()
	switch grown := used - m.base; {
	case grown <= limit:
		return false
	case grown > hopeless*limit:
		return true // there is no time left to find out how much of it is garbage
	}
	runtime.GC()
	_, live := m.read()
	return live-m.base > limit
}

// hopeless is how many times the limit may be in use, garbage included.
const hopeless = 4
