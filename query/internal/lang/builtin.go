package lang

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// funcClass reports how a function takes part in a query.
type funcClass uint8

const (
	ClassScalar    funcClass = iota // a value of each row, by fn
	ClassAggregate                  // a value of many rows; NewAggregate makes its state
	ClassRank                       // stands in ORDER BY RANK alone
)

// Builtin is one function of the language.
type Builtin struct {
	Name     string // upper case, the way error texts name it
	Min, Max int    // how many arguments; max -1: any number
	Fn       func(c *Call, args []jsondoc.Value) jsondoc.Value
	// differs from one evaluation to the next although the arguments are the same: must not be folded
	Volatile bool
	Class    funcClass
}

// Accepts reports whether n is a number of arguments that the function takes.
func (b *Builtin) Accepts(n int) bool { return n >= b.Min && (b.Max < 0 || n <= b.Max) }

// Call is what functions may need besides their arguments. One serves one run of one query; it is not for
// use by several goroutines.
type Call struct {
	Meter            // functions whose work is more than to go through their arguments spend themselves
	Now    time.Time // GetCurrentDateTime and its kin; see moment
	Clock  func() time.Time
	Stale  bool           // the clock is to be asked: there is another row
	Static time.Time      // their Static forms: one moment for the whole run
	Random func() float64 // RAND: in [0, 1)
	Planar bool           // the container's geospatialConfig is Geometry

	// Language is what the full text function that is being called reads its text in.
	Language index.Language

	regex   RegexCache
	Shapes  [2]ShapeCache
	terms   termsCache
	scratch [2][]byte
	numbers [2][]float64
	floats  [2][]float32
}

// moment is the present time of the row.
func (c *Call) moment() time.Time {
	if c.Stale && c.Clock != nil {
		c.Now = c.Clock()
	}
	c.Stale = false
	return c.Now
}

// str returns the bytes of a string argument. They stay good until the next str of the same slot, 0 or 1.
func (c *Call) str(slot int, v jsondoc.Value) []byte {
	c.scratch[slot] = v.AppendStr(c.scratch[slot][:0])
	return c.scratch[slot]
}

// MaxText bounds, in bytes, what functions build: a short query must not fill the memory.
const MaxText = 4 << 20

// Undefined is what functions return where an argument is missing or of a wrong type.
var Undefined jsondoc.Value

// Lookup finds a function by its name in any case.
func Lookup(name string) (*Builtin, bool) {
	b, ok := Builtins()[strings.ToUpper(name)]
	return b, ok
}

// Functions are the names of all functions of the language, in upper case and in order.
func Functions() []string { return slices.Sorted(maps.Keys(Builtins())) }

// Builtins is the table of all functions by their names in upper case, with those under which several
// clients know them.
var Builtins = sync.OnceValue(func() map[string]*Builtin {
	table := make(map[string]*Builtin, 256)
	for _, group := range [][]Builtin{
		stringBuiltins(), regexBuiltins(), conversionBuiltins(), arrayBuiltins(), typeBuiltins(),
		mathBuiltins(), integerBuiltins(),
		dateBuiltins(), miscBuiltins(), spatialBuiltins(), vectorBuiltins(), fullTextBuiltins(),
		aggregateBuiltins(),
	} {
		for i := range group {
			table[group[i].Name] = &group[i]
		}
	}
	for alias, name := range Aliases {
		table[alias] = table[name]
	}
	return table
})

// Aliases maps other spellings to the registered ones.
var Aliases = map[string]string{
	"STRING_EQUALS": "STRINGEQUALS", "STRING_JOIN": "STRINGJOIN", "STRING_SPLIT": "STRINGSPLIT",
	"TO_STRING":       "TOSTRING",
	"STRING_TO_ARRAY": "STRINGTOARRAY", "STRING_TO_BOOLEAN": "STRINGTOBOOLEAN",
	"STRING_TO_NULL":   "STRINGTONULL",
	"STRING_TO_NUMBER": "STRINGTONUMBER", "STRING_TO_OBJECT": "STRINGTOOBJECT",
	"SET_UNION": "SETUNION", "SET_INTERSECT": "SETINTERSECT", "SET_DIFFERENCE": "SETDIFFERENCE",
	"SET_EQUAL":     "SETEQUAL",
	"CONTAINSALLCI": "CONTAINS_ALL_CI", "CONTAINSALLCS": "CONTAINS_ALL_CS",
	"CONTAINSANYCI": "CONTAINS_ANY_CI", "CONTAINSANYCS": "CONTAINS_ANY_CS",
	VectorScore: VectorDistance, "REGEXREPLACE": "REGEXREPLACEALL", "IS_BOOLEAN": "IS_BOOL",
	"ISDEFINED":         "IS_DEFINED",
	"INTMULTIPLY":       "INTMUL",
	"FULLTEXT_CONTAINS": "FULLTEXTCONTAINS", "FULLTEXT_CONTAINS_ALL": "FULLTEXTCONTAINSALL",
	"FULLTEXT_CONTAINS_ANY": "FULLTEXTCONTAINSANY",
}

// MaxExact is the end of the integers that a double tells from their neighbours.
const MaxExact = 1 << 53

// AsInteger reads a number as an integer of 64 bits. A number that is written as one is exact; another one,
// such as 1.0 or 1e15, is an integer up to 2^53, beyond which a double cannot tell. It is false for what is
// no number or has a fraction.
func AsInteger(v jsondoc.Value) (int64, bool) {
	if v.Kind() != jsondoc.Number {
		return 0, false
	}
	f := v.Num()
	switch {
	case math.Abs(f) < MaxExact:
		return int64(f), f == math.Trunc(f)
	case !(math.Abs(f) <= 1<<63) || !v.Spelled(): // NaN too
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n, err == nil
}

// IntegerValue returns n as a number that says it exactly.
func IntegerValue(n int64) jsondoc.Value {
	if n > -MaxExact && n < MaxExact {
		return jsondoc.NumberValue(float64(n))
	}
	return jsondoc.Of(strconv.AppendInt(nil, n, 10))
}

// position reads a position, a count or a length: an integer. What is far out is brought near, where it
// means the same.
func position(v jsondoc.Value) (int, bool) {
	const far = 1 << 40
	n, ok := AsInteger(v)
	return int(min(max(n, -far), far)), ok
}

// AllOf reports whether all values are of kind k.
func AllOf(k jsondoc.Kind, values ...jsondoc.Value) bool {
	for _, v := range values {
		if v.Kind() != k {
			return false
		}
	}
	return true
}

// IsPrimitive tells of null, booleans, numbers and strings.
func IsPrimitive(v jsondoc.Value) bool {
	k := v.Kind()
	return k >= jsondoc.Null && k <= jsondoc.String
}

// AppendElement adds a value to the text of an array that is being written, unless it is undefined.
func AppendElement(dst []byte, v jsondoc.Value) []byte {
	if v.Kind() == jsondoc.Undefined {
		return dst
	}
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	return v.AppendJSON(dst)
}

// anyOf is OR over results of three values: true if one is, else undefined if one is, else false.
func anyOf(n int, at func(i int) jsondoc.Value) jsondoc.Value {
	result := jsondoc.BoolValue(false)
	for i := range n {
		switch v := at(i); {
		case v.Kind() != jsondoc.Bool:
			result = Undefined
		case v.Bool():
			return v
		}
	}
	return result
}

// allTrue is AND over results of three values: false if one is, else undefined if one is, else true.
func allTrue(n int, at func(i int) jsondoc.Value) jsondoc.Value {
	result := jsondoc.BoolValue(true)
	for i := range n {
		switch v := at(i); {
		case v.Kind() != jsondoc.Bool:
			result = Undefined
		case !v.Bool():
			return v
		}
	}
	return result
}

// TextScore and VectorScore are the forms that scores have in query plans. By both, ORDER BY may run in
// either direction.
const (
	VectorDistance = "VECTORDISTANCE"
	TextScore      = "_FULLTEXTSCORE"
	VectorScore    = "_VECTORSCORE"
)
