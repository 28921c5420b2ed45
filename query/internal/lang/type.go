package lang

import "github.com/mayflydb/mayfly/internal/jsondoc"

// typeBuiltins returns the functions that test the type of their argument. Their result is never undefined:
// for an undefined argument it is false.
func typeBuiltins() []Builtin {
	test := func(name string, is func(v jsondoc.Value) bool) Builtin {
		return Builtin{Name: name, Min: 1, Max: 1,
			Fn: func(_ *CallContext,
				args []jsondoc.Value) jsondoc.Value {
				return jsondoc.BoolValue(is(args[0]))
			}}
	}
	kind := func(k jsondoc.Kind) func(jsondoc.Value) bool {
		return func(v jsondoc.Value) bool { return v.Kind() == k }
	}
	return []Builtin{
		test("IS_ARRAY", kind(jsondoc.Array)),
		test("IS_BOOL", kind(jsondoc.Bool)),
		test("IS_NULL", kind(jsondoc.Null)),
		test("IS_NUMBER", kind(jsondoc.Number)),
		test("IS_OBJECT", kind(jsondoc.Object)),
		test("IS_STRING", kind(jsondoc.String)),
		test("IS_DEFINED", func(v jsondoc.Value) bool { return v.Kind() != jsondoc.Undefined }),
		test("IS_PRIMITIVE", IsPrimitive),
		test("IS_FINITE_NUMBER", isFinite),
		test("IS_INTEGER", func(v jsondoc.Value) bool { _, ok := AsInteger(v); return ok }),
		test("IS_DATETIME", func(v jsondoc.Value) bool { _, ok := asTicks(v); return ok }),
	}
}

func isFinite(v jsondoc.Value) bool { return v.Kind() == jsondoc.Number && v.Num()-v.Num() == 0 }
