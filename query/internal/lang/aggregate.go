package lang

import "github.com/mayflydb/mayfly/internal/jsondoc"

// Aggregate is the state of one aggregate function over one group of rows.
type Aggregate interface {
	// Add takes in the argument's value of one row. It may be a view on a row that is gone afterwards.
	Add(v jsondoc.Value)
	// Result is the value for the rows so far.
	Result() jsondoc.Value
	// Size is how many bytes the state keeps of the rows, about. It grows with them for MIN and MAX of
	// strings, MAKELIST and MAKESET; who adds must watch it, and give up at MaxHeld.
	Size() int
}

func aggregateBuiltins() []Builtin {
	var table []Builtin
	for _, name := range []string{"COUNT", "SUM", "AVG", "MIN", "MAX", "COUNTIF", "MAKELIST", "MAKESET"} {
		table = append(table, Builtin{Name: name, Min: 1, Max: 1, Class: ClassAggregate})
	}
	return table
}

// NewAggregate returns the empty state of an aggregate function, by its name in upper case; nil where it is
// none.
func NewAggregate(name string) Aggregate {
	switch name {
	case "COUNT":
		return &Counter{counts: func(v jsondoc.Value) bool { return v.Kind() != jsondoc.Undefined }}
	case "COUNTIF":
		return &Counter{counts: IsTrue}
	case "SUM":
		return &Adder{}
	case "AVG":
		return &Adder{average: true}
	case "MIN":
		return &Extreme{sign: -1}
	case "MAX":
		return &Extreme{sign: 1}
	case "MAKELIST":
		return &Collector{Text: []byte{'['}}
	case "MAKESET":
		return &Collector{Text: []byte{'['}, seen: &ValueSet{}}
	}
	return nil
}

// Counter is COUNT and COUNTIF.
type Counter struct {
	counts func(jsondoc.Value) bool
	N      int64
}

// Add implements Aggregate.
func (a *Counter) Add(v jsondoc.Value) {
	if a.counts(v) {
		a.N++
	}
}

// Result implements Aggregate.
func (a *Counter) Result() jsondoc.Value { return IntegerValue(a.N) }

// Size implements Aggregate.
func (a *Counter) Size() int { return 0 }

// Adder is SUM and AVG: one value that is neither a number nor undefined spoils them.
type Adder struct {
	average bool
	Spoiled bool
	Sum     float64
	N       int64
	// Sums depend on the order in which numbers are added. Of a part of a group whose beginning is in a file,
	// the numbers are listed, for whoever puts the parts together.
	Lists bool
	List  []float64
}

// Add implements Aggregate.
func (a *Adder) Add(v jsondoc.Value) {
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

// Result implements Aggregate.
func (a *Adder) Result() jsondoc.Value {
	switch {
	case a.Spoiled || a.average && a.N == 0:
		return Undefined
	case a.average:
		return jsondoc.NumberValue(a.Sum / float64(a.N))
	}
	return jsondoc.NumberValue(a.Sum)
}

// Size implements Aggregate.
func (a *Adder) Size() int { return 8 * len(a.List) }

// Extreme is MIN and MAX: over primitive values in the order of all types. An array or an object spoils it.
type Extreme struct {
	sign    int // what Compare says of a better value
	Best    jsondoc.Value
	Bytes   int
	Spoiled bool
}

// Add implements Aggregate.
func (a *Extreme) Add(v jsondoc.Value) {
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

// Result implements Aggregate.
func (a *Extreme) Result() jsondoc.Value { return a.Best }

// Size implements Aggregate.
func (a *Extreme) Size() int { return a.Bytes }

// Collector is MAKELIST and, with a set of what it has seen, MAKESET.
type Collector struct {
	Text []byte // of the array, not closed
	seen *ValueSet
}

// Add implements Aggregate.
func (a *Collector) Add(v jsondoc.Value) {
	if v.Kind() == jsondoc.Undefined || a.seen != nil && !a.seen.Add(v) {
		return
	}
	a.Text = AppendElement(a.Text, v)
}

// Result implements Aggregate.
func (a *Collector) Result() jsondoc.Value {
	return jsondoc.Of(append(a.Text[:len(a.Text):len(a.Text)], ']')) // a copy: more may be added
}

// Size implements Aggregate.
func (a *Collector) Size() int {
	if a.seen == nil {
		return len(a.Text)
	}
	return len(a.Text) + a.seen.size
}
