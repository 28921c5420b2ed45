package query

import (
	"fmt"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/syntax"
)

// Call compiles a call; nil for what decides rather than gives a value.
func (c *compiler) call(e *syntax.Call) valuer {
	if e.UDF {
		return c.udf(e)
	}
	if ref, ok := c.aggs[e]; ok {
		id := ref.id
		return func(f *frame) doc.Value { return f.aggs[id] }
	}
	fn, ok := lang.LookupBuiltin(e.Name)
	switch {
	case !ok:
		return func(*frame) doc.Value { return lang.Undefined }
	case fn.Name == "IIF":
		return c.conditional(e.Args[0], e.Args[1], e.Args[2])
	case fn.Name == "DOCUMENTID" && c.isItem(e.Args[0]):
		return documentID
	case isTypeTest(fn.Name):
		return nil
	case fn.Fn == nil:
		return func(*frame) doc.Value { return lang.Undefined }
	}
	x := c.builtin(fn, c.arguments(fn, e))
	if language := c.languageOf(e); isFullText(fn.Name) && language != index.English {
		return func(f *frame) doc.Value {
			before := f.run.Call.Language
			f.run.Call.Language = language
			v := x(f)
			f.run.Call.Language = before
			return v
		}
	}
	return x
}

// isFullText tells of the functions whose first argument is a text in a language.
func isFullText(name string) bool {
	switch name {
	case "FULLTEXTCONTAINS", "FULLTEXTCONTAINSALL", "FULLTEXTCONTAINSANY", "_FULLTEXTWORDCOUNT", lang.TextScore:
		return true
	}
	return false
}

// arguments are those of the call, and what the container's vector policy says where VectorDistance is not
// told.
func (c *compiler) arguments(fn *lang.Builtin, e *syntax.Call) []syntax.Expr {
	if fn.Name != lang.VectorDistance || len(e.Args) >= 4 {
		return e.Args
	}
	distance := c.distanceOf(e)
	if distance == "" {
		return e.Args
	}
	args := append([]syntax.Expr{}, e.Args...)
	if len(args) == 2 {
		args = append(args, &syntax.Literal{Value: doc.BoolValue(false)})
	}
	return append(args, &syntax.ObjectLit{Keys: []string{"distanceFunction"},
		Values: []syntax.Expr{&syntax.Literal{Value: doc.StringValue(distance)}}})
}

// Builtin compiles a call of a function that takes values.
func (c *compiler) builtin(fn *lang.Builtin, list []syntax.Expr) valuer {
	args := c.values(list)
	switch len(args) {
	case 1:
		x := args[0]
		return func(f *frame) doc.Value {
			v := [1]doc.Value{x(f)}
			if !f.run.Spend(lang.Work(v[0])) {
				return lang.Undefined
			}
			return fn.Fn(&f.run.Call, v[:])
		}
	case 2:
		x, y := args[0], args[1]
		return func(f *frame) doc.Value {
			v := [2]doc.Value{}
			if v[0], v[1] = operands(f, x, y); !f.run.Spend(lang.Work(v[0]) + lang.Work(v[1])) {
				return lang.Undefined
			}
			return fn.Fn(&f.run.Call, v[:])
		}
	}
	return func(f *frame) doc.Value {
		held := 0
		v := evaluate(f, args, &held)
		defer func() { f.run.Retained -= held }()
		if !f.run.Spend(lang.Work(v...)) {
			return lang.Undefined
		}
		return fn.Fn(&f.run.Call, v)
	}
}

// operands evaluates two expressions.
func operands(f *frame, x, y valuer) (a, b doc.Value) {
	a = x(f)
	held := f.run.Retain(a)
	if f.run.Err == nil {
		b = y(f)
	}
	f.run.Retained -= held
	return a, b
}

func (c *compiler) values(list []syntax.Expr) []valuer {
	values := make([]valuer, len(list))
	for i, e := range list {
		values[i] = c.value(e)
	}
	return values
}

// evaluate evaluates expressions as far as the run does not end. What the values hold is added to held: the
// caller takes it off what is retained.
func evaluate(f *frame, list []valuer, held *int) []doc.Value {
	values := make([]doc.Value, len(list))
	for i, x := range list {
		if f.run.Err != nil {
			break
		}
		values[i] = x(f)
		*held += f.run.Retain(values[i])
	}
	return values
}

// udf compiles a call of a function that the container holds.
func (c *compiler) udf(e *syntax.Call) valuer {
	args, name := c.values(e.Args), e.Name
	return func(f *frame) doc.Value {
		r := f.run
		if r.Err != nil {
			return lang.Undefined
		}
		if r.env.UDF == nil {
			r.Fail(fault.Plain(fmt.Sprintf("The user defined function '%s' does not exist.", name)))
			return lang.Undefined
		}
		held := 0
		values := evaluate(f, args, &held)
		r.Retained -= held
		if r.Err != nil {
			return lang.Undefined
		}
		r.udfs++
		v, err := r.env.UDF(name, values)
		if err != nil {
			r.Fail(err)
			return lang.Undefined
		}
		return v
	}
}

// documentID is DOCUMENTID(alias), the number in the document's part of its _rid.
func documentID(f *frame) doc.Value {
	if f.item == nil {
		return lang.Undefined
	}
	return lang.IntegerValue(int64(f.item.RID()))
}

// isTypeTest tells of the functions that look at the type of their argument alone.
func isTypeTest(name string) bool {
	_, ok := typeTests()[name]
	return ok
}

// typeTests maps functions to the kinds that they are true for.
func typeTests() map[string]kindSet {
	return map[string]kindSet{
		"IS_DEFINED": ^kindSet(0) &^ kinds(doc.Undefined), "IS_NULL": kinds(doc.Null), "IS_BOOL": kinds(
			doc.Bool),
		"IS_NUMBER": kinds(doc.Number), "IS_STRING": kinds(doc.String), "IS_ARRAY": kinds(doc.Array),
		"IS_OBJECT": kinds(doc.Object), "IS_PRIMITIVE": kinds(doc.Null, doc.Bool, doc.Number, doc.String),
	}
}

// kindSet is a set of kinds, a bit for each.
type kindSet uint8

func kinds(list ...doc.Kind) (s kindSet) {
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

func (s kindSet) has(k doc.Kind) bool { return s>>k&1 == 1 }
