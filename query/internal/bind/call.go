package bind

import (
	"slices"
	"strconv"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/syntax"
)

// argumentChecks returns a function that checks the arguments of calls of the function with this name, as
// they are written in the query, or nil if there is nothing to check. The number of arguments has already
// been checked.
func (b *Binder) argumentChecks(name string) func(*syntax.Call) {
	switch name {
	case lang.VectorDistance:
		return b.vector
	case "HASH":
		return b.hashArguments
	case "AGO", "NOW":
		return func(c *syntax.Call) { b.timespan(c, 1) }
	case "DATETIMEADD":
		return func(c *syntax.Call) { b.timespan(c, 2) }
	case "GENERATEEMBEDDINGS":
		return b.embeddings
	}
	return nil
}

// literalOf returns the value of a literal or of a parameter, and undefined for any other expression.
func (b *Binder) literalOf(e syntax.Expr) jsondoc.Value {
	switch e := e.(type) {
	case *syntax.Literal:
		return e.Value
	case *syntax.Parameter:
		return b.PinnedValue(e.Name)
	}
	return lang.Undefined
}

// integerLiteral returns the value of an integer literal without a point or an exponent. The result is false
// for any other expression.
func (b *Binder) integerLiteral(e syntax.Expr) (int64, bool) {
	sign := ""
	if minus, ok := e.(*syntax.Unary); ok && minus.Op == syntax.Neg {
		e, sign = minus.X, "-"
	}
	v := b.literalOf(e)
	n, err := strconv.ParseInt(sign+string(v.Raw()), 10, 64)
	return n, err == nil && v.Kind() == jsondoc.Number
}

func (b *Binder) hashArguments(c *syntax.Call) {
	if len(c.Args) > 1 {
		if n, ok := b.integerLiteral(c.Args[1]); !ok || n == 0 {
			b.failCode(c.Args[1], queryerror.CodeHashModulo,
				"The modulo value for the 'Hash' function must be a non-zero integer literal.")
		}
	}
	if len(c.Args) > 2 {
		if _, ok := b.integerLiteral(c.Args[2]); !ok {
			b.failCode(c.Args[2], queryerror.CodeHashSeed,
				"The seed value for the 'Hash' function must be an integer literal.")
		}
	}
}

// timespan refuses a call with n arguments whose first argument is not a constant time span. It accepts
// calls with another number of arguments: they have a date part and a count instead of a time span.
func (b *Binder) timespan(c *syntax.Call, n int) {
	if len(c.Args) != n {
		return
	}
	span := b.literalOf(c.Args[0])
	if _, _, ok := lang.SplitSpan(span.Str()); !ok {
		b.failCode(c, queryerror.CodeTimespan,
			"The timespan argument provided to the DateTime function is invalid.")
	}
}

func (b *Binder) embeddings(c *syntax.Call) {
	if b.literalOf(c.Args[0]).Kind() != jsondoc.String {
		b.failCode(c.Args[0], queryerror.CodeEmbeddings,
			"The 'GenerateEmbeddings' function requires a single string literal argument.")
		return
	}
	b.FailPlain(c, "GenerateEmbeddings needs a model for embeddings, and the account has none.")
}

// vectorOptions maps the names of the options of VectorDistance to the JSON types of their values.
var vectorOptions = map[string]jsondoc.Kind{
	"distanceFunction": jsondoc.String, "dataType": jsondoc.String, "searchListSizeMultiplier": jsondoc.Number,
	"quantizedVectorListMultiplier": jsondoc.Number,
	"filterPriority":                jsondoc.Number,
}

// vector checks the third and the fourth argument of VectorDistance.
func (b *Binder) vector(c *syntax.Call) {
	if len(c.Args) > 2 && b.literalOf(c.Args[2]).Kind() != jsondoc.Bool {
		b.failCode(c.Args[2], queryerror.CodeVectorExact,
			"The third argument provided in the VectorDistance function is invalid. This value must be a boolean "+
				"value set to either \"true\" to execute an exact search or \"false\" to execute an efficient search leveraging the index.")
		return
	}
	if len(c.Args) < 4 {
		return
	}
	o, ok := c.Args[3].(*syntax.ObjectLiteral)
	if given := b.literalOf(c.Args[3]); given.Kind() == jsondoc.Object {
		given.Each(func(key string, _ jsondoc.Value) bool {
			if _, known := vectorOptions[key]; !known {
				b.unknownOption(c.Args[3], key)
			}
			return true
		})
		b.vectorRange(c.Args[3], given)
		return
	} else if !ok {
		b.failCode(c.Args[3], queryerror.CodeVectorOptions,
			"Options argument of VectorDistance function must be an object literal expression.")
		return
	}
	values := []byte{'{'}
	for i, key := range o.Keys {
		v := b.literalOf(o.Values[i])
		switch kind, known := vectorOptions[key]; {
		case !known:
			b.unknownOption(o, key)
			return
		case v.Kind() != kind:
			b.failCode(o, queryerror.CodeVectorOptions,
				"VectorDistance function options argument property value of option '%s' must be a %s literal.", key, kind)
			return
		case badOption(key, v):
			b.failCode(o, queryerror.CodeVectorOptions,
				"VectorDistance function options argument property value '%s' is not a valid value for option '%s'.", v.Str(), key)
			return
		}
		if len(values) > 1 {
			values = append(values, ',')
		}
		values = v.AppendJSON(append(jsondoc.AppendString(values, key), ':'))
	}
	b.vectorRange(o, jsondoc.Of(append(values, '}')))
}

// vectorRange records an error if one of the options of VectorDistance that are multipliers has a value
// out of its range.
func (b *Binder) vectorRange(o syntax.Expr, options jsondoc.Value) {
	if name, v := lang.BadMultiplier(options); name != "" {
		b.failCode(o, queryerror.CodeSearchList,
			"The '%s' value %s specified in the VectorDistance function is outside the supported range. "+
				"The value must be between %d and %d.", name, v.Raw(), lang.MinMultiplier, lang.MaxMultiplier)
	}
}

func (b *Binder) unknownOption(o syntax.Expr, name string) {
	b.failCode(o, queryerror.CodeVectorOptions,
		"'%s' is not a valid option name for VectorDistance function options argument.", name)
}

// badOption reports whether an option names a distance function that does not exist.
func badOption(key string, v jsondoc.Value) bool {
	if key != "distanceFunction" {
		return false
	}
	_, ok := lang.MetricOf(v.Str())
	return !ok
}

// groupKey refuses a GROUP BY key that contains no property.
func (b *Binder) groupKey(key syntax.Expr) {
	found := false
	syntax.Walk(key, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.Ident:
			found = true
		case *syntax.Subquery:
			return false
		}
		return !found
	})
	if !found {
		b.failCode(key, queryerror.CodeKeyWithoutProperty,
			"Each GROUP BY expression must contain at least one property reference.")
	}
}

// multiRow reports whether a block can have several rows for one row of the outer block.
func (bl *QueryBlock) multiRow() bool {
	if bl.Grouped && len(bl.GroupBy) == 0 {
		return false
	}
	return slices.ContainsFunc(bl.Steps, func(st *FromSource) bool {
		return st.Kind == StepElements || st.Kind == StepFlatten || st.Kind == stepRows && st.Sub.multiRow()
	})
}

// LanguageOf returns the language that the container's full text policy sets for the path in the first
// argument of a call.
func (b *Binder) LanguageOf(e *syntax.Call) index.Language {
	if len(e.Args) == 0 {
		return index.English
	}
	return b.LanguageAt(e.Args[0])
}

// LanguageAt returns the language that the container's full text policy sets for a path. The default is
// English.
func (b *Binder) LanguageAt(text syntax.Expr) index.Language {
	if text == nil {
		return index.English
	}
	route, _, _ := b.ItemRoute(text)
	return b.Info.Index.Language(route)
}
