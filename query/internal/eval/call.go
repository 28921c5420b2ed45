package eval

import (
	"fmt"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// call compiles a call. It returns nil for functions that are compiled to a TruthFunc instead.
func (c *Compiler) call(e *syntax.Call) ValueFunc {
	if e.UDF {
		return c.udf(e)
	}
	if ref, ok := c.Aggs[e]; ok {
		id := ref.Id
		return func(f *Frame) jsondoc.Value { return f.aggs[id] }
	}
	fn, ok := lang.Lookup(e.Name)
	switch {
	case !ok:
		return func(*Frame) jsondoc.Value { return lang.Undefined }
	case fn.Name == "IIF":
		return c.conditional(e.Args[0], e.Args[1], e.Args[2])
	case fn.Name == "DOCUMENTID" && c.isItem(e.Args[0]):
		return documentID
	case isTypeTest(fn.Name):
		return nil
	case fn.Fn == nil:
		return func(*Frame) jsondoc.Value { return lang.Undefined }
	}
	x := c.builtin(fn, c.arguments(fn, e))
	if language := c.LanguageOf(e); isFullText(fn.Name) && language != index.English {
		return func(f *Frame) jsondoc.Value {
			before := f.Run.CallContext.Language
			f.Run.CallContext.Language = language
			v := x(f)
			f.Run.CallContext.Language = before
			return v
		}
	}
	return x
}

// isFullText reports whether a function searches a text whose language matters: its first argument is this
// text.
func isFullText(name string) bool {
	switch name {
	case "FULLTEXTCONTAINS", "FULLTEXTCONTAINSALL", "FULLTEXTCONTAINSANY", "_FULLTEXTWORDCOUNT",
		lang.TextScore:
		return true
	}
	return false
}

// arguments returns the arguments of the call. For VectorDistance, missing options are taken from the
// container's vector policy.
func (c *Compiler) arguments(fn *lang.Builtin, e *syntax.Call) []syntax.Expr {
	if fn.Name != lang.VectorDistance || len(e.Args) >= 4 {
		return e.Args
	}
	distance := c.DistanceOf(e)
	if distance == "" {
		return e.Args
	}
	args := append([]syntax.Expr{}, e.Args...)
	if len(args) == 2 {
		args = append(args, &syntax.Literal{Value: jsondoc.BoolValue(false)})
	}
	return append(args, &syntax.ObjectLiteral{Keys: []string{"distanceFunction"},
		Values: []syntax.Expr{&syntax.Literal{Value: jsondoc.StringValue(distance)}}})
}

// builtin compiles a call of a function whose arguments are values.
func (c *Compiler) builtin(fn *lang.Builtin, list []syntax.Expr) ValueFunc {
	args := c.values(list)
	switch len(args) {
	case 1:
		x := args[0]
		return func(f *Frame) jsondoc.Value {
			v := [1]jsondoc.Value{x(f)}
			if !f.Run.Spend(lang.Work(v[0])) {
				return lang.Undefined
			}
			return fn.Fn(&f.Run.CallContext, v[:])
		}
	case 2:
		x, y := args[0], args[1]
		return func(f *Frame) jsondoc.Value {
			v := [2]jsondoc.Value{}
			if v[0], v[1] = operands(f, x, y); !f.Run.Spend(lang.Work(v[0]) + lang.Work(v[1])) {
				return lang.Undefined
			}
			return fn.Fn(&f.Run.CallContext, v[:])
		}
	}
	return func(f *Frame) jsondoc.Value {
		held := 0
		v := evaluate(f, args, &held)
		defer func() { f.Run.Retained -= held }()
		if !f.Run.Spend(lang.Work(v...)) {
			return lang.Undefined
		}
		return fn.Fn(&f.Run.CallContext, v)
	}
}

// operands evaluates two expressions, and counts the memory of the first while the second is evaluated.
func operands(f *Frame, x, y ValueFunc) (a, b jsondoc.Value) {
	a = x(f)
	held := f.Run.Retain(a)
	if f.Run.Err == nil {
		b = y(f)
	}
	f.Run.Retained -= held
	return a, b
}

func (c *Compiler) values(list []syntax.Expr) []ValueFunc {
	values := make([]ValueFunc, len(list))
	for i, e := range list {
		values[i] = c.Value(e)
	}
	return values
}

// evaluate returns the values of expressions. It stops early if the run of the query has ended with an
// error. It adds the size of the values to held; the caller subtracts that size when it no longer uses the
// values.
func evaluate(f *Frame, list []ValueFunc, held *int) []jsondoc.Value {
	values := make([]jsondoc.Value, len(list))
	for i, x := range list {
		if f.Run.Err != nil {
			break
		}
		values[i] = x(f)
		*held += f.Run.Retain(values[i])
	}
	return values
}

// udf compiles a call of a user defined function.
func (c *Compiler) udf(e *syntax.Call) ValueFunc {
	args, name := c.values(e.Args), e.Name
	return func(f *Frame) jsondoc.Value {
		r := f.Run
		if r.Err != nil {
			return lang.Undefined
		}
		if r.Env.UDF == nil {
			r.Fail(queryerror.Plain(fmt.Sprintf("The user defined function '%s' does not exist.", name)))
			return lang.Undefined
		}
		held := 0
		values := evaluate(f, args, &held)
		r.Retained -= held
		if r.Err != nil {
			return lang.Undefined
		}
		r.Udfs++
		v, err := r.Env.UDF(name, values)
		if err != nil {
			r.Fail(err)
			return lang.Undefined
		}
		return v
	}
}

// documentID implements DOCUMENTID(alias): the number in the document's part of its _rid.
func documentID(f *Frame) jsondoc.Value {
	if f.Item == nil {
		return lang.Undefined
	}
	return lang.IntegerValue(int64(f.Item.RID()))
}

// isTypeTest reports whether a function depends only on the type of its argument.
func isTypeTest(name string) bool {
	_, ok := TypeTests()[name]
	return ok
}

// TypeTests returns the functions that test the type of a value, each with the kinds for which it is true.
func TypeTests() map[string]ValueKindSet {
	return map[string]ValueKindSet{
		"IS_DEFINED": ^ValueKindSet(0) &^ Kinds(jsondoc.Undefined), "IS_NULL": Kinds(jsondoc.Null),
		"IS_BOOL": Kinds(
			jsondoc.Bool),
		"IS_NUMBER": Kinds(jsondoc.Number), "IS_STRING": Kinds(jsondoc.String), "IS_ARRAY": Kinds(jsondoc.Array),
		"IS_OBJECT": Kinds(jsondoc.Object), "IS_PRIMITIVE": Kinds(jsondoc.Null, jsondoc.Bool, jsondoc.Number, jsondoc.String),
	}
}

// ValueKindSet is a set of types of JSON values, one bit for each.
type ValueKindSet uint8

// Kinds returns the set of the given kinds.
func Kinds(list ...jsondoc.Kind) (s ValueKindSet) {
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

// Has reports whether the type k is in the set.
func (s ValueKindSet) Has(k jsondoc.Kind) bool { return s>>k&1 == 1 }
