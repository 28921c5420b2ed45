package query

// A DISTINCT tells equal rows apart in one of three ways. Where equal rows are neighbours it remembers one.
// Where rows come in the order of rids, page after page, it remembers all that pages have given out. Where
// all rows are made first, it remembers them all.

// distinctNeighbours is a DISTINCT whose rows come in an order that has equal ones side by side.
type distinctNeighbours struct{}

func (distinctNeighbours) String() string { return "distinct from the row before" }

func (distinctNeighbours) run(x *execution, in int, row func() bool) bool {
	return x.rowsOf(in, func() bool { return x.isGiven() || x.repeats(x.out) || row() })
}

// distinctPages is a DISTINCT over rows in the order of rids.
type distinctPages struct{}

func (distinctPages) String() string { return "distinct" }

func (distinctPages) run(x *execution, in int, row func() bool) bool {
	x.recall()
	return x.rowsOf(in, func() bool {
		given := x.isGiven()
		if given && !x.replay {
			return true
		}
		return x.firstTime(given || x.isOld(), row)
	})
}

// distinctSet is a DISTINCT over values.
type distinctSet struct{}

func (distinctSet) String() string { return "distinct" }

func (distinctSet) run(x *execution, in int, row func() bool) bool {
	seen := distinctRows{run: x.run, held: new(int)}
	defer seen.close()
	return x.rowsOf(in, func() bool {
		if !seen.add(x.value) {
			return x.run.err == nil
		}
		return row()
	})
}
