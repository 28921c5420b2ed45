package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// Error reports that a script threw, gave itself up with abort, or could not be compiled.
type Error struct {
	Exception string // what was thrown, as JavaScript prints it: "Error: no such order"
	Stack     string // "   at f (id.js:3:9)" for each call, innermost first, one a line; may be empty
	// Number is the number that the thrown object carries: scripts give one by new Error(404, "no such
	// order"), and the errors of collection operations are statuses. 0 where there is none. CompileNumber: it
	// could not be compiled.
	Number int
}

// CompileNumber is the Number of an Error of compilation. Cosmos DB reports it as the substatus.
const CompileNumber = 0xFFFF

// Error is the text that Cosmos DB answers with.
func (e *Error) Error() string {
	if e.Number == CompileNumber {
		return "Encountered exception while compiling Javascript. Exception = " + e.Exception
	}
	text := "Encountered exception while executing function. Exception = " + e.Exception
	if e.Stack != "" {
		text += "\r\nStack trace: " + e.Exception + "\n" + e.Stack
	}
	return text
}

// TimeoutError reports that a script was stopped because its time was up.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("The script was stopped: it ran for more than %v. Split its work and call it again with what is left.", e.Limit)
}

// TooLargeMemory is what is too large where a script was stopped for what it held.
const TooLargeMemory = "memory"

// TooLargeError reports that a script was stopped because it held too much, or that what it gave out is too
// large.
type TooLargeError struct {
	What  string // TooLargeMemory, "result", "source"
	Limit int64  // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("The %s of the script is larger than the %d bytes that it may have.", e.What, e.Limit)
}

// BusyError reports that a script was not begun, because so many others did not come back when they were
// stopped.
type BusyError struct{ Stuck int }

func (e *BusyError) Error() string {
	return fmt.Sprintf("No script is begun: %d scripts were stopped and have not ended yet. Try again later.",
		e.Stuck)
}

// FaultError reports a defect: the interpreter itself has failed on a script.
type FaultError struct{ Panic any }

func (e *FaultError) Error() string { return fmt.Sprint("the interpreter failed: ", e.Panic) }

// interruption is why a script was stopped from outside; goja hands it back.
type interruption struct{ err error }

// failure turns what goja returned into an error of this package.
func (r *Runtime) failure(err error) error {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var thrown *goja.Exception
	switch {
	case errors.As(err, &interrupted):
		if why, ok := interrupted.Value().(interruption); ok {
			return why.err
		}
		return err
	case errors.As(err, &overflow):
		return &Error{Exception: "RangeError: Out of stack space", Stack: stackText(overflow.Stack())}
	case errors.As(err, &thrown):
		return r.thrown(thrown.Value(), thrown.Stack())
	}
	return err
}

// thrown describes a value that a script threw. Looking at it may run code of the script, which may throw in
// turn.
func (r *Runtime) thrown(v goja.Value, stack []goja.StackFrame) *Error {
	e := &Error{Stack: stackText(stack), Exception: "an object that cannot be printed"}
	r.quietly(func() {
		if o, ok := v.(*goja.Object); ok {
			if n := o.Get("number"); n != nil {
				e.Number = substatus(n)
			}
		}
		e.Exception = v.String()
	})
	if len(e.Exception) > maxException {
		e.Exception = strings.ToValidUTF8(e.Exception[:maxException], "") + "..."
	}
	return e
}

// quietly runs code of the script whose failures do not matter. To be stopped is one of them: whoever asks
// for that is met by the next instruction, too.
func (r *Runtime) quietly(fn func()) {
	defer func() {
		_ = recover() // what was thrown, or an interrupt
	}()
	r.js.Try(fn)
}

// maxException is how many bytes of a thrown value's text are reported.
const maxException = 8 << 10

// substatus reads an error's number where it is one that can be reported.
func substatus(v goja.Value) int {
	if n, ok := v.Export().(int64); ok && n > 0 && n < CompileNumber {
		return int(n)
	}
	return 0
}

// stackText prints the frames of the user's own code.
func stackText(frames []goja.StackFrame) string {
	var b strings.Builder
	for _, f := range frames {
		if f.SrcName() == sandboxFile || f.SrcName() == contextFile || f.SrcName() == "<native>" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if b.Len() > maxException {
			b.WriteString("   ...")
			break
		}
		name := f.FuncName()
		if name == "" || name == "<anonymous>" {
			name = "Anonymous function"
		}
		p := f.Position()
		fmt.Fprintf(&b, "   at %s (%s:%d:%d)", name, p.Filename, p.Line, p.Column)
	}
	return b.String()
}
