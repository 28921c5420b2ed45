package lang

import "github.com/mayflydb/mayfly/internal/jsondoc"

// AggregateState is the state of one aggregate function over one group of rows.
type AggregateState interface {
	// Add adds the argument's value of one row. The value may be a view that is valid only during the call.
	Add(v jsondoc.Value)
	// Result returns the value for the rows added so far.
	Result() jsondoc.Value
	// Size returns the approximate size of the state in bytes. It grows with the rows for MIN and MAX of
	// strings, MAKELIST and MAKESET. The caller of Add must check it, and stop at MaxHeld.
	Size() int
}

func aggregateBuiltins() []Builtin {
	var table []Builtin
	for _, name := range []string{"COUNT", "SUM", "AVG", "MIN", "MAX", "COUNTIF", "MAKELIST", "MAKESET"} {
		table = append(table, Builtin{Name: name, Min: 1, Max: 1, Class: ClassAggregate})
	}
	return table
}

// NewAggregate returns the empty state of an aggregate function, by its name in upper case, or nil if there
// is no such function.
func NewAggregate(name string) AggregateState {
	switch name {
	case "COUNT":
		return &CountAggregate{counts: func(v jsondoc.Value) bool { return v.Kind() != jsondoc.Undefined }}
	case "COUNTIF":
		return &CountAggregate{counts: IsTrue}
	case "SUM":
		return &SumAverageAggregate{}
	case "AVG":
		return &SumAverageAggregate{average: true}
	case "MIN":
		return &MinMaxAggregate{sign: -1}
	case "MAX":
		return &MinMaxAggregate{sign: 1}
	case "MAKELIST":
		return &ArrayAggregate{Text: []byte{'['}}
	case "MAKESET":
		return &ArrayAggregate{Text: []byte{'['}, seen: &ValueSet{}}
	}
	return nil
}

// CountAggregate implements COUNT and COUNTIF.
type CountAggregate struct {
	counts func(jsondoc.Value) bool
	N      int64
}

// Add counts a row if its argument v counts: for COUNT if it is not undefined, for COUNTIF if it is true.
func (a *CountAggregate) Add(v jsondoc.Value) {
	if a.counts(v) {
		a.N++
	}
}

// Result returns the number of rows that Add has counted so far.
func (a *CountAggregate) Result() jsondoc.Value { return IntegerValue(a.N) }

// Size returns 0, since a count takes no additional memory.
func (a *CountAggregate) Size() int { return 0 }

// SumAverageAggregate implements SUM and AVG. If one value is neither a number nor undefined, the result is
// undefined.
type SumAverageAggregate struct {
	average bool
	Spoiled bool
	Sum     float64
	N       int64
	// Lists makes the SumAverageAggregate keep a list of the numbers instead of adding them. It is set for
	// the later part of a group whose first part is in a file: a sum depends on the order of its numbers, so
	// they are added when the parts are merged.
	Lists bool
	List  []float64
}

// Add adds the argument of SUM or AVG for one row. An undefined value is ignored; any other value that is not
// a number makes the result undefined.
func (a *SumAverageAggregate) Add(v jsondoc.Value) {
	switch v.Kind() {
	case jsondoc.Undefined:
	case jsondoc.Number:
		if a.N++; a.Lists {
			a.List = append(a.List, v.Num())
		} else {
			a.Sum += v.Num()
		}
	default:
		a.Spoiled = true
	}
}

// Result returns the sum or the average of the numbers added so far. It is undefined if another value was
// added, and for an average without numbers.
func (a *SumAverageAggregate) Result() jsondoc.Value {
	switch {
	case a.Spoiled || a.average && a.N == 0:
		return Undefined
	case a.average:
		return jsondoc.NumberValue(a.Sum / float64(a.N))
	}
	return jsondoc.NumberValue(a.Sum)
}

// Size returns the approximate size of the state in bytes: see AggregateState.
func (a *SumAverageAggregate) Size() int { return 8 * len(a.List) }

// MinMaxAggregate implements MIN and MAX over primitive values, in the order of all types. If one value is
// an array or an object, the result is undefined.
type MinMaxAggregate struct {
	sign    int // the result of Compare(v, Best) for a v that is better than Best: -1 for MIN, 1 for MAX
	Best    jsondoc.Value
	Bytes   int
	Spoiled bool
}

// Add adds the argument of one row: see AggregateState.
func (a *MinMaxAggregate) Add(v jsondoc.Value) {
	switch {
	case v.Kind() == jsondoc.Undefined || a.Spoiled:
	case !IsPrimitive(v):
		a.Spoiled, a.Best, a.Bytes = true, Undefined, 0
	case a.Best.Kind() == jsondoc.Undefined || jsondoc.Compare(v, a.Best) == a.sign:
		a.Best = v.Clone()
		a.Bytes = 0
		if v.Kind() == jsondoc.String {
			a.Bytes = len(a.Best.Raw())
		}
	}
}

// Result returns the value for the rows added so far: see AggregateState.
func (a *MinMaxAggregate) Result() jsondoc.Value { return a.Best }

// Size returns the approximate size of the state in bytes. It implements AggregateState.
func (a *MinMaxAggregate) Size() int { return a.Bytes }

// ArrayAggregate is the state of MAKELIST and of MAKESET: it collects values in an array. MAKESET also has a
// set of the values added so far.
type ArrayAggregate struct {
	Text []byte // text of the array, without the closing bracket
	seen *ValueSet
}

// Add appends the argument v of one row to the array that the aggregate returns.
func (a *ArrayAggregate) Add(v jsondoc.Value) {
	if v.Kind() == jsondoc.Undefined || a.seen != nil && !a.seen.Add(v) {
		return
	}
	a.Text = AppendElement(a.Text, v)
}

// Result returns the value for the rows added so far: see AggregateState.
func (a *ArrayAggregate) Result() jsondoc.Value {
	return jsondoc.Of(append(a.Text[:len(a.Text):len(a.Text)], ']')) // a copy, since more values may be added
}

// Size returns the approximate size of the state in bytes: see AggregateState.
func (a *ArrayAggregate) Size() int {
	if a.seen == nil {
		return len(a.Text)
	}
	return len(a.Text) + a.seen.size
}
