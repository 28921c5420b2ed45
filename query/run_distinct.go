package query

// A DISTINCT tells equal rows apart in one of three ways. Where equal rows are neighbours it remembers one.
// Where rows come in the order of rids, page after page, it remembers all that pages have given out. Where
// all rows are made first, it remembers them all.

func (x *execution) runDistinctNeighbours(in int, row func() bool) bool {
	return x.rowsOf(in, func() bool { return x.isGiven() || x.repeats(x.out) || row() })
}

func (x *execution) runDistinctPages(in int, row func() bool) bool {
	x.recall()
	return x.rowsOf(in, func() bool {
		given := x.isGiven()
		if given && !x.replay {
			return true
		}
		return x.firstTime(given || x.isOld(), row)
	})
}

func (x *execution) runDistinctSet(in int, row func() bool) bool {
	seen := distinctRows{run: x.run, held: new(int)}
	defer seen.close()
	return x.rowsOf(in, func() bool {
		if !seen.add(x.value) {
			return x.run.Err == nil
		}
		return row()
	})
}
