package script

import (
	_ "embed" // context.js
	"errors"
	"strings"

	"github.com/dop251/goja"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// contextText is the text of context.js, which defines the objects that stored procedures and triggers use,
// such as the result of getContext().
//
//go:embed context.js
var contextText string

const contextFile = "context"

// Limits of the data that is queued while a script runs.
const (
	maxPending = 16 << 20 // bytes of operations that were accepted and not carried out yet
	maxLog     = 4 << 10  // bytes of the output of console.log, which is sent in a header
)

// In Cosmos DB, the collection operations of scripts are asynchronous: a call requests an operation, and its
// callback runs after the function that made the call has returned. Therefore the stack does not grow if
// each callback starts the next operation. Here the requested operations are queued and carried out one by
// one, in order.

// procedureRun is one call of a stored procedure: its script, and the operations that it has requested.
type procedureRun struct {
	*Runtime
	host      Host
	p         ProcedureOrTriggerCall
	pending   []acceptedOperation
	waiting   int // bytes in pending
	body      goja.Callable
	self, alt string // links
	log       strings.Builder
}

// acceptedOperation is an operation on documents that a script has requested, and whose callback has not been
// called yet.
type acceptedOperation struct {
	Operation
	callback goja.Callable
}

// Run runs a stored procedure or a trigger to its end. The Runtime must be new. The error is an *Error, a
// *TimeoutError, a *SizeOrMemoryLimitError, the error of the context, or an error of the host. After an error
// the host must undo all operations.
func (r *Runtime) Run(p ProcedureOrTriggerCall, host Host) (ProcedureOrTriggerResult, error) {
	s := &procedureRun{Runtime: r, host: host, p: p}
	s.self, s.alt = host.Links()
	r.hosted = true
	code, err := r.programs.compile(p.ID, p.Source)
	if err != nil {
		return ProcedureOrTriggerResult{}, err
	}
	// The outcome is read only after the script has ended, since an abandoned script may still write to it.
	left := new(ProcedureOrTriggerResult)
	err = r.runJob(func() error {
		if err := s.setup(); err != nil {
			return err
		}
		main, err := r.load(p.ID, code)
		if err != nil {
			return err
		}
		if err := s.run(main); err != nil {
			return err
		}
		*left, err = s.outcome()
		return err
	})
	var thrown *Error
	if errors.As(err, &thrown) { // the script has ended and no longer writes to it
		return ProcedureOrTriggerResult{Log: s.log.String()}, err
	}
	if err != nil {
		return ProcedureOrTriggerResult{}, err
	}
	return *left, nil
}

// run calls the function, and then carries out the queued operations and calls their callbacks.
func (s *procedureRun) run(main goja.Callable) error {
	args := make([]goja.Value, len(s.p.Args))
	for i, a := range s.p.Args {
		args[i] = s.toJS(a)
	}
	if _, err := main(goja.Undefined(), args...); err != nil {
		return err
	}
	for len(s.pending) > 0 {
		next := s.pending[0]
		s.pending = s.pending[1:]
		s.waiting -= len(next.Body)
		answer, err := s.do(s.host, next.Operation)
		if err != nil {
			return err
		}
		if _, err := next.callback(goja.Undefined(), s.answer(answer)...); err != nil {
			return err
		}
	}
	s.check() // the last callback may have called abort
	return nil
}

// answer returns the arguments with which a script's callback is called: (error) or (undefined, result,
// options).
func (s *procedureRun) answer(a OperationResult) []goja.Value {
	if a.Status >= 400 {
		body := string(jsondoc.StringValue(a.Message).AppendJSON([]byte(`{"Errors":[`))) + "]}"
		e, ok := s.newError("Error", body).(*goja.Object)
		if !ok {
			return []goja.Value{s.js.ToValue(body)}
		}
		s.must(e.Set("number", a.Status))
		s.must(e.Set("body", body))
		return []goja.Value{e}
	}
	options := s.js.NewObject()
	s.must(options.Set("statusCode", a.Status))
	if a.Continuation != "" {
		s.must(options.Set("continuation", a.Continuation))
	}
	if a.NotModified {
		s.must(options.Set("notModified", true))
	}
	return []goja.Value{goja.Undefined(), s.toJS(jsondoc.Of(a.Body)), options}
}

// setup defines getContext and the other functions of the API.
func (s *procedureRun) setup() error {
	code, err := s.programs.context.get(contextFile, contextText)
	if err != nil {
		return err
	}
	v, err := s.js.RunProgram(code)
	if err != nil {
		return err
	}
	make, _ := goja.AssertFunction(v)
	native := s.js.NewObject()
	request, response := s.messages()
	limits, usage := s.host.Quota()
	for name, value := range map[string]any{
		"selfLink": s.self, "altLink": s.alt, "request": request, "response": response, "operation": s.p.Operation,
		"start": s.start, "abort": s.abort, "log": s.print, "limits": limits, "usage": usage,
	} {
		if err := native.Set(name, value); err != nil {
			return err
		}
	}
	kind := [...]string{NoTrigger: "procedure", PreTrigger: "pre", PostTrigger: "post"}[s.p.Trigger]
	v, err = make(s.js.GlobalObject(), native, s.js.ToValue(kind))
	if err != nil {
		return err
	}
	s.body, _ = goja.AssertFunction(v)
	return nil
}

// messages returns the initial bodies of the request and response objects that a script sees: for a trigger
// the documents of the request and the response, for a stored procedure its arguments and "".
func (s *procedureRun) messages() (request, response goja.Value) {
	if s.p.Trigger != NoTrigger {
		return s.toJS(s.p.Request), s.toJS(s.p.Response)
	}
	args := make([]any, len(s.p.Args))
	for i, a := range s.p.Args {
		args[i] = s.toJS(a)
	}
	return s.js.NewArray(args...), s.js.ToValue("")
}

// start is the native function start(operation, callback), by which a stored procedure starts an operation on
// the collection. callback is called later with the result. start returns true if the operation was accepted,
// and false if too much is pending, most of the time limit has passed, or the transaction is full.
func (s *procedureRun) start(call goja.FunctionCall) goja.Value {
	o := call.Argument(0).ToObject(s.js)
	callback, ok := goja.AssertFunction(call.Argument(1))
	if !ok {
		panic(s.js.NewTypeError("an operation without a callback"))
	}
	text := func(name string) string {
		if v := o.Get(name); v != nil && !goja.IsUndefined(v) {
			return v.String()
		}
		return ""
	}
	op := Operation{
		Kind: OperationKind(text("kind")), ID: text("id"), RID: text("rid"), ETag: text("etag"),
		Continuation: text("continuation"), Body: []byte(text("body")),
	}
	if v := o.Get("pageSize"); v != nil {
		op.PageSize = int(max(-1, min(v.ToInteger(), 1000)))
	}
	if s.waiting+len(op.Body) > maxPending || s.runTime() > s.limits.Time*4/5 || s.full() {
		return s.js.ToValue(false)
	}
	s.waiting += len(op.Body)
	s.pending = append(s.pending, acceptedOperation{op, callback})
	return s.js.ToValue(true)
}

func (s *procedureRun) full() (full bool) {
	s.ask(func() { full = s.host.Full() })
	return full
}

// abort is the native function abort(error). It ends the script, even if the script catches exceptions.
func (s *procedureRun) abort(call goja.FunctionCall) goja.Value {
	why := s.thrown(call.Argument(0), s.js.CaptureCallStack(0, nil))
	s.interrupt(why)
	s.check()
	return goja.Undefined()
}

// print is the native function of console.log(text).
func (s *procedureRun) print(call goja.FunctionCall) goja.Value {
	if !s.p.Logging {
		return goja.Undefined()
	}
	text := call.Argument(0).String()
	if s.log.Len()+len(text) < maxLog {
		if s.log.Len() > 0 {
			s.log.WriteByte('\n')
		}
		s.log.WriteString(text)
	}
	return goja.Undefined()
}

// outcome returns the result of the script after its end: the response body that it has set, and the text
// that it has logged.
func (s *procedureRun) outcome() (ProcedureOrTriggerResult, error) {
	v, err := s.body(goja.Undefined())
	if err != nil {
		return ProcedureOrTriggerResult{}, err
	}
	return ProcedureOrTriggerResult{Body: s.encodeResult(v), Log: s.log.String()}, nil
}
