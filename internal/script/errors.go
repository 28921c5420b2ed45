package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// Error is the error of a script that threw an exception, called abort, or could not be compiled.
type Error struct {
	Exception string // the thrown value as text, such as "Error: no such order"
	Stack     string // one line for each call, innermost first, such as "   at f (id.js:3:9)"; may be empty
	// Number is the number property of the thrown object, or 0 if there is none. A script can set it with
	// new Error(404, "no such order"). In errors of collection operations it is the status. CompileNumber
	// means that the script could not be compiled.
	Number int
}

// CompileNumber is the Number of an Error that reports a compilation error. Cosmos DB reports it as the
// substatus.
const CompileNumber = 0xFFFF

// Error returns the message in Cosmos DB's format.
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

// TimeoutError is the error of a script that exceeded its time limit.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("The script was stopped: it ran for more than %v. Split its work and call it again with what is left.", e.Limit)
}

// TooLargeMemory is the SizeOrMemoryLimitError.What of a script that exceeded its memory limit.
const TooLargeMemory = "memory"

// SizeOrMemoryLimitError is the error of a script that exceeded its memory limit, or whose result or source
// is too large.
type SizeOrMemoryLimitError struct {
	What  string // TooLargeMemory, "result" or "source"
	Limit int64  // bytes
}

func (e *SizeOrMemoryLimitError) Error() string {
	return fmt.Sprintf("The %s of the script is larger than the %d bytes that it may have.", e.What, e.Limit)
}

// TooManyAbandonedScriptsError is the error of a script that was not started because too many abandoned
// scripts are still running. Stuck is their number.
type TooManyAbandonedScriptsError struct{ Stuck int }

func (e *TooManyAbandonedScriptsError) Error() string {
	return fmt.Sprintf("No script is begun: %d scripts were stopped and have not ended yet. Try again later.",
		e.Stuck)
}

// InterpreterPanicError reports a panic in the interpreter.
type InterpreterPanicError struct{ Panic any }

func (e *InterpreterPanicError) Error() string {
	return fmt.Sprint("the interpreter failed: ", e.Panic)
}

// interruptReason is the value with which the interpreter goja is told to stop a script. It wraps the
// reason.
type interruptReason struct{ err error }

// failure converts an error returned by goja to an error of this package.
func (r *Runtime) failure(err error) error {
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var thrown *goja.Exception
	switch {
	case errors.As(err, &interrupted):
		if why, ok := interrupted.Value().(interruptReason); ok {
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

// thrown returns the *Error for a value that a script threw. It may call code of the script, which may
// throw again.
func (r *Runtime) thrown(v goja.Value, stack []goja.StackFrame) *Error {
	e := &Error{Stack: stackText(stack), Exception: "an object that cannot be printed"}
	r.ignoreFailures(func() {
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

// ignoreFailures runs code of the script and ignores its failures. It also ignores an interrupt, since the
// next instruction of the script is interrupted again.
func (r *Runtime) ignoreFailures(fn func()) {
	defer func() {
		_ = recover() // a thrown value, or an interrupt
	}()
	r.js.Try(fn)
}

// maxException is the maximal size of a reported exception text in bytes.
const maxException = 8 << 10

// substatus returns the property number of a thrown error, if Cosmos DB's substatus can have this value, and
// 0 otherwise.
func substatus(v goja.Value) int {
	if n, ok := v.Export().(int64); ok && n > 0 && n < CompileNumber {
		return int(n)
	}
	return 0
}

// stackText formats stack frames, without those of this package's own scripts.
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
