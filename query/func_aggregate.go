package query

import "github.com/mayflydb/mayfly/doc"

// aggregate is the state of one aggregate function over one group of rows.
type aggregate interface {
	// add takes in the argument's value of one row. It may be a view on a row that is gone afterwards.
	add(v doc.Value)
	// result is the value for the rows so far.
	result() doc.Value
	// size is how many bytes the state keeps of the rows, about. It grows with them for MIN and MAX of
	// strings, MAKELIST and MAKESET; who adds must watch it, and give up at maxHeld.
	size() int
}

func aggregateBuiltins() []builtin {
	var table []builtin
	for _, name := range []string{"COUNT", "SUM", "AVG", "MIN", "MAX", "COUNTIF", "MAKELIST", "MAKESET"} {
		table = append(table, builtin{name: name, min: 1, max: 1, class: classAggregate})
	}
	return table
}

// newAggregate returns the empty state of an aggregate function, by its name in upper case; nil where it is
// none.
func newAggregate(name string) aggregate {
	switch name {
	case "COUNT":
		return &counter{counts: func(v doc.Value) bool { return v.Kind() != doc.Undefined }}
	case "COUNTIF":
		return &counter{counts: isTrue}
	case "SUM":
		return &adder{}
	case "AVG":
		return &adder{average: true}
	case "MIN":
		return &extreme{sign: -1}
	case "MAX":
		return &extreme{sign: 1}
	case "MAKELIST":
		return &collector{text: []byte{'['}}
	case "MAKESET":
		return &collector{text: []byte{'['}, seen: &valueSet{}}
	}
	return nil
}

// counter is COUNT and COUNTIF.
type counter struct {
	counts func(doc.Value) bool
	n      int64
}

func (a *counter) add(v doc.Value) {
	if a.counts(v) {
		a.n++
	}
}

func (a *counter) result() doc.Value { return integerValue(a.n) }
func (a *counter) size() int         { return 0 }

// adder is SUM and AVG: one value that is neither a number nor undefined spoils them.
type adder struct {
	average bool
	spoiled bool
	sum     float64
	n       int64
	// Sums depend on the order in which numbers are added. Of a part of a group whose beginning is in a file,
	// the numbers are listed, for whoever puts the parts together.
	lists bool
	list  []float64
}

func (a *adder) add(v doc.Value) {
	switch v.Kind() {
	case doc.Undefined:
	case doc.Number:
		if a.n++; a.lists {
			a.list = append(a.list, v.Num())
		} else {
			a.sum += v.Num()
		}
	default:
		a.spoiled = true
	}
}

func (a *adder) result() doc.Value {
	switch {
	case a.spoiled || a.average && a.n == 0:
		return undefined
	case a.average:
		return doc.NumberValue(a.sum / float64(a.n))
	}
	return doc.NumberValue(a.sum)
}

func (a *adder) size() int { return 8 * len(a.list) }

// extreme is MIN and MAX: over primitive values in the order of all types. An array or an object spoils it.
type extreme struct {
	sign    int // what Compare says of a better value
	best    doc.Value
	bytes   int
	spoiled bool
}

func (a *extreme) add(v doc.Value) {
	switch {
	case v.Kind() == doc.Undefined || a.spoiled:
	case !isPrimitive(v):
		a.spoiled, a.best, a.bytes = true, undefined, 0
	case a.best.Kind() == doc.Undefined || doc.Compare(v, a.best) == a.sign:
		a.best = v.Clone()
		a.bytes = 0
		if v.Kind() == doc.String {
			a.bytes = len(a.best.Raw())
		}
	}
}

func (a *extreme) result() doc.Value { return a.best }
func (a *extreme) size() int         { return a.bytes }

// collector is MAKELIST and, with a set of what it has seen, MAKESET.
type collector struct {
	text []byte // of the array, not closed
	seen *valueSet
}

func (a *collector) add(v doc.Value) {
	if v.Kind() == doc.Undefined || a.seen != nil && !a.seen.add(v) {
		return
	}
	a.text = appendElement(a.text, v)
}

func (a *collector) result() doc.Value {
	return doc.Of(append(a.text[:len(a.text):len(a.text)], ']')) // a copy: more may be added
}

func (a *collector) size() int {
	if a.seen == nil {
		return len(a.text)
	}
	return len(a.text) + a.seen.size
}
