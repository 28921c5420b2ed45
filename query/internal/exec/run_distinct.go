package exec

import "github.com/mayflydb/mayfly/query/internal/eval"

// A DISTINCT tells equal rows apart in one of three ways. Where equal rows are neighbours it remembers one.
// Where rows come in the order of rids, page after page, it remembers all that pages have given out. Where
// all rows are made first, it remembers them all.

func (x *Execution) runDistinctNeighbours(in int, row func() bool) bool {
	return x.rowsOf(in, func() bool { return x.isGiven() || x.repeats(x.out) || row() })
}

func (x *Execution) runDistinctPages(in int, row func() bool) bool {
	x.recall()
	return x.rowsOf(in, func() bool {
		given := x.isGiven()
		if given && !x.replay {
			return true
		}
		return x.firstTime(given || x.isOld(), row)
	})
}

func (x *Execution) runDistinctSet(in int, row func() bool) bool {
	seen := eval.DistinctRows{Run: x.Run, Held: new(int)}
	defer seen.Close()
	return x.rowsOf(in, func() bool {
		if !seen.Add(x.value) {
			return x.Run.Err == nil
		}
		return row()
	})
}
