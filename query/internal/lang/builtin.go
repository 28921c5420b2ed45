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

// functionKind says whether a function is a scalar function, an aggregate or a score.
type functionKind uint8

const (
	ClassScalar    functionKind = iota // a value for each row, computed by fn
	ClassAggregate                     // a value for many rows; NewAggregate makes the state
	ClassRank                          // allowed in ORDER BY RANK only
)

// Builtin is a built-in function of the query language.
type Builtin struct {
	Name     string // upper case, as in error messages
	Min, Max int    // number of arguments; Max -1: any number
	Fn       func(c *CallContext, args []jsondoc.Value) jsondoc.Value
	// the result may differ between evaluations with the same arguments, so a call must not be folded into a
	// constant
	Volatile bool
	Class    functionKind
}

// Accepts reports whether the function can have n arguments.
func (b *Builtin) Accepts(n int) bool { return n >= b.Min && (b.Max < 0 || n <= b.Max) }

// CallContext holds what functions need besides their arguments. It belongs to one run of one query and must
// not be used by several goroutines.
type CallContext struct {
	// ResourceLimiter holds the limits of the run on work and memory. A function that does more work than one
	// pass over its arguments reports the additional work by calling Spend.
	ResourceLimiter
	Now    time.Time // for GetCurrentDateTime and related functions; see moment
	Clock  func() time.Time
	Stale  bool           // the clock has to be read again, since a new row has begun
	Static time.Time      // for the Static variants of these functions: one time for the whole run
	Random func() float64 // RAND: in [0, 1)
	Planar bool           // the container's geospatialConfig is Geometry

	// Language is the language of the text in the current call of a full text function.
	Language index.Language

	regex   RegexCache
	Shapes  [2]LastGeometryCache
	terms   searchTermsCache
	scratch [2][]byte
	numbers [2][]float64
	floats  [2][]float32
}

// moment returns the current time. It reads the clock once for each row, so that all calls in a row return
// the same time.
func (c *CallContext) moment() time.Time {
	if c.Stale && c.Clock != nil {
		c.Now = c.Clock()
	}
	c.Stale = false
	return c.Now
}

// str returns the bytes of a string argument. slot, 0 or 1, selects the buffer that it uses: the bytes are
// valid until the next call with the same slot.
func (c *CallContext) str(slot int, v jsondoc.Value) []byte {
	c.scratch[slot] = v.AppendStr(c.scratch[slot][:0])
	return c.scratch[slot]
}

// MaxText is the maximum size in bytes of texts that functions build, so that a short query cannot fill the
// memory.
const MaxText = 4 << 20

// Undefined is the result of functions if an argument is missing or has a wrong type.
var Undefined jsondoc.Value

// Lookup finds a function by its name, ignoring case. The result is false if there is no such function.
func Lookup(name string) (*Builtin, bool) {
	b, ok := Builtins()[strings.ToUpper(name)]
	return b, ok
}

// Functions returns the sorted names of all functions of the language, in upper case.
func Functions() []string { return slices.Sorted(maps.Keys(Builtins())) }

// Builtins returns the table of all functions by their names in upper case. It includes the alternative names
// that some clients use.
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

// Aliases maps the alternative names of functions to their registered names.
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

// MaxExact is the bound below which a double represents every integer exactly: 2^53.
const MaxExact = 1 << 53

// AsInteger returns a number as an integer of 64 bits. A number written as an integer is converted exactly.
// A number written in another form, such as 1.0 or 1e15, is accepted up to 2^53, since doubles above that
// are not exact. ok is false for other values and for numbers with a fraction.
func AsInteger(v jsondoc.Value) (int64, bool) {
	if v.Kind() != jsondoc.Number {
		return 0, false
	}
	f := v.Num()
	switch {
	case math.Abs(f) < MaxExact:
		return int64(f), f == math.Trunc(f)
	case !(math.Abs(f) <= 1<<63) || !v.Spelled(): // also if f is NaN
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n, err == nil
}

// IntegerValue returns n as a number that represents it exactly.
func IntegerValue(n int64) jsondoc.Value {
	if n > -MaxExact && n < MaxExact {
		return jsondoc.NumberValue(float64(n))
	}
	return jsondoc.Of(strconv.AppendInt(nil, n, 10))
}

// position returns an argument that is a position, a count or a length. ok is false if it is not an integer.
// Very large values are reduced to smaller ones with the same effect.
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

// IsPrimitive reports whether v is null, a boolean, a number or a string.
func IsPrimitive(v jsondoc.Value) bool {
	k := v.Kind()
	return k >= jsondoc.Null && k <= jsondoc.String
}

// AppendElement appends an element to the unfinished text of an array, unless v is undefined.
func AppendElement(dst []byte, v jsondoc.Value) []byte {
	if v.Kind() == jsondoc.Undefined {
		return dst
	}
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	return v.AppendJSON(dst)
}

// anyOf is a three-valued OR: true if one result is true, else undefined if one is undefined, else false.
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

// allTrue is a three-valued AND: false if one result is false, else undefined if one is undefined, else true.
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

// TextScore and VectorScore are the names that scores have in query plans. ORDER BY accepts both ASC and
// DESC after them.
const (
	VectorDistance = "VECTORDISTANCE"
	TextScore      = "_FULLTEXTSCORE"
	VectorScore    = "_VECTORSCORE"
)
