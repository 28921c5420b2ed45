package lang

import "github.com/mayflydb/mayfly/doc"

// typeBuiltins are the tests of types. They are never undefined: of an undefined argument they are false.
func typeBuiltins() []Builtin {
	test := func(name string, is func(v doc.Value) bool) Builtin {
		return Builtin{Name: name, Min: 1, Max: 1,
			Fn: func(_ *Call, args []doc.Value) doc.Value { return doc.BoolValue(is(args[0])) }}
	}
	kind := func(k doc.Kind) func(doc.Value) bool { return func(v doc.Value) bool { return v.Kind() == k } }
	return []Builtin{
		test("IS_ARRAY", kind(doc.Array)),
		test("IS_BOOL", kind(doc.Bool)),
		test("IS_NULL", kind(doc.Null)),
		test("IS_NUMBER", kind(doc.Number)),
		test("IS_OBJECT", kind(doc.Object)),
		test("IS_STRING", kind(doc.String)),
		test("IS_DEFINED", func(v doc.Value) bool { return v.Kind() != doc.Undefined }),
		test("IS_PRIMITIVE", IsPrimitive),
		test("IS_FINITE_NUMBER", isFinite),
		test("IS_INTEGER", func(v doc.Value) bool { _, ok := AsInteger(v); return ok }),
		test("IS_DATETIME", func(v doc.Value) bool { _, ok := asTicks(v); return ok }),
	}
}

func isFinite(v doc.Value) bool { return v.Kind() == doc.Number && v.Num()-v.Num() == 0 }
