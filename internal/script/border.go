package script

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Values are passed to and from a script as JSON. A value that is passed to a script becomes plain
// JavaScript objects. A value that a script returns is encoded as by JSON.stringify: dates become strings
// and functions are omitted.

// maxDepth is the maximal nesting of a value that is passed to or from a script.
const maxDepth = 500

// toJS converts a JSON value to a JavaScript value. Numbers become doubles, so integers beyond 2^53 are
// rounded.
func (r *Runtime) toJS(v jsondoc.Value) goja.Value {
	r.check()
	switch v.Kind() {
	case jsondoc.Undefined:
		return goja.Undefined()
	case jsondoc.Null:
		return goja.Null()
	case jsondoc.Bool:
		return r.js.ToValue(v.Bool())
	case jsondoc.Number:
		return r.numberToJS(v.Num())
	case jsondoc.String:
		return r.js.ToValue(v.Str())
	case jsondoc.Array:
		list := make([]any, 0, 8)
		v.Each(func(_ string, e jsondoc.Value) bool {
			list = append(list, r.toJS(e))
			return true
		})
		return r.js.NewArray(list...)
	}
	o := r.js.NewObject()
	v.Each(func(key string, e jsondoc.Value) bool {
		name := strings.Clone(key)
		if name == "__proto__" {
			// Like JSON.parse, this defines an own property. For the name __proto__, Set would change the
			// prototype instead.
			r.must(o.DefineDataProperty(name, r.toJS(e), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE))
		} else {
			r.must(o.Set(name, r.toJS(e)))
		}
		return true
	})
	return o
}

func (r *Runtime) numberToJS(f float64) goja.Value {
	if i := int64(f); math.Abs(f) <= 1<<53 && float64(i) == f && (i != 0 || !math.Signbit(f)) {
		return r.js.ToValue(i)
	}
	return r.js.ToValue(f)
}

// must throws err as a JavaScript exception, if it is not nil. It is used for errors that should not occur.
func (r *Runtime) must(err error) {
	if err != nil {
		panic(r.js.NewGoError(err))
	}
}

// parse parses a JSON text, as JSON.parse does.
func (r *Runtime) parse(text string) goja.Value {
	raw := []byte(text)
	if err := jsondoc.Valid(raw, jsondoc.Limits{MaxBytes: maxText, MaxDepth: maxDepth}); err != nil {
		var twice *jsondoc.DuplicateNameError
		if !errors.As(err, &twice) {
			panic(r.syntaxError(err.Error()))
		}
	}
	return r.toJS(jsondoc.Of(raw))
}

// jsonEncoder encodes values as JSON.stringify does. It runs within the script and throws errors into it.
type jsonEncoder struct {
	r        *Runtime
	out      []byte
	limit    int            // bytes
	outward  bool           // the text is passed out of the script, so exceeding limit ends the script
	path     []*goja.Object // the objects that are being encoded, to detect cycles
	indent   string
	replacer goja.Callable // nil: no replacer
	only     []string      // property names in the list that was passed as the replacer; nil: all
}

// root encodes a complete value. It returns false if the value has no JSON form.
func (e *jsonEncoder) root(v goja.Value) bool {
	holder := e.r.js.NewObject()
	e.r.must(holder.Set("", v))
	return e.value(holder, "", v)
}

// value encodes one value, which is the property key of holder. It returns false and writes nothing if the
// value has no JSON form.
func (e *jsonEncoder) value(holder *goja.Object, key string, v goja.Value) bool {
	e.r.check()
	v = e.prepare(holder, key, v)
	if v == nil || goja.IsUndefined(v) {
		return false
	}
	if goja.IsNull(v) {
		e.add("null")
		return true
	}
	o, ok := v.(*goja.Object)
	if !ok {
		return e.primitive(v)
	}
	switch o.ClassName() {
	case "Number":
		return e.primitive(e.r.js.ToValue(o.ToFloat()))
	case "String":
		return e.primitive(e.r.js.ToValue(o.String()))
	case "Boolean":
		return e.primitive(e.r.js.ToValue(o.Export()))
	}
	if _, callable := goja.AssertFunction(o); callable {
		return false
	}
	e.enter(o)
	if e.isArray(o) {
		e.array(o)
	} else {
		e.object(o)
	}
	e.path = e.path[:len(e.path)-1]
	return true
}

// prepare returns the value to encode for a property: the result of the value's method toJSON and of the
// replacer function of JSON.stringify, if there are any.
func (e *jsonEncoder) prepare(holder *goja.Object, key string, v goja.Value) goja.Value {
	if o, ok := v.(*goja.Object); ok {
		if f, ok := goja.AssertFunction(o.Get("toJSON")); ok {
			v = e.r.call(f, o, e.r.js.ToValue(key))
		}
	}
	if e.replacer != nil {
		v = e.r.call(e.replacer, holder, e.r.js.ToValue(key), v)
	}
	return v
}

// enter adds an object to the path of objects that are being encoded. It throws a TypeError if the object is
// already on the path, that is if the structure is circular, and a RangeError if the path is too long.
func (e *jsonEncoder) enter(o *goja.Object) {
	for _, p := range e.path {
		if p.SameAs(o) {
			panic(e.r.js.NewTypeError("Converting circular structure to JSON"))
		}
	}
	if len(e.path) == maxDepth {
		panic(e.r.rangeError("The value is nested too deep for JSON"))
	}
	e.path = append(e.path, o)
}

func (e *jsonEncoder) isArray(o *goja.Object) bool { return o.ClassName() == "Array" }

func (e *jsonEncoder) primitive(v goja.Value) bool {
	if _, ok := v.(*goja.Symbol); ok {
		return false
	}
	switch x := v.Export().(type) {
	case bool:
		e.add(strconv.FormatBool(x))
	case int64:
		e.out = strconv.AppendInt(e.out, x, 10)
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			e.add("null")
		} else {
			e.out = jsondoc.NumberValue(x).AppendJSON(e.out)
		}
	case string:
		e.checkRoom(len(x))
		e.out = jsondoc.StringValue(x).AppendJSON(e.out)
	default:
		return false
	}
	return true
}

func (e *jsonEncoder) array(o *goja.Object) {
	n := int(o.Get("length").ToInteger())
	e.add("[")
	for i := range n {
		if i > 0 {
			e.add(",")
		}
		e.line(0)
		if key := strconv.Itoa(i); !e.value(o, key, o.Get(key)) {
			e.add("null")
		}
	}
	if n > 0 {
		e.line(-1)
	}
	e.add("]")
}

func (e *jsonEncoder) object(o *goja.Object) {
	keys := e.only
	if keys == nil {
		keys = o.Keys()
	}
	e.add("{")
	first := true
	for _, key := range keys {
		before := len(e.out)
		if !first {
			e.add(",")
		}
		e.line(0)
		e.checkRoom(len(key))
		e.out = jsondoc.StringValue(key).AppendJSON(e.out)
		e.add(":")
		if e.indent != "" {
			e.add(" ")
		}
		if !e.value(o, key, o.Get(key)) {
			e.out = e.out[:before]
			continue
		}
		first = false
	}
	if !first {
		e.line(-1)
	}
	e.add("}")
}

// line starts a new line, indented by the current depth plus outer, if the caller of JSON.stringify has asked
// for indentation.
func (e *jsonEncoder) line(outer int) {
	if e.indent == "" {
		return
	}
	e.add("\n")
	for range len(e.path) + outer {
		e.add(e.indent)
	}
}

func (e *jsonEncoder) add(s string) {
	e.checkRoom(len(s))
	e.out = append(e.out, s...)
}

// checkRoom throws an error into the script if n more bytes of JSON would exceed the limit of the encoder.
func (e *jsonEncoder) checkRoom(n int) {
	if len(e.out)+n <= e.limit {
		return
	}
	if e.outward {
		panic(&SizeOrMemoryLimitError{What: "result", Limit: int64(e.limit)})
	}
	panic(e.r.rangeError("The value is too large for JSON"))
}
