package exec

import "github.com/mayflydb/mayfly/query/internal/eval"

// DISTINCT detects equal rows in one of three ways. If equal rows are adjacent, it remembers only the last
// row. If rows come in the order of rids, it remembers the hashes of all rows that have been returned,
// across pages. If all rows are made before the first is returned, it remembers all of them.

func (x *Execution) runDistinctNeighbours(in int, row func() bool) bool {
	return x.rowsOf(in, func() bool { return x.wasReturned() || x.repeats(x.out) || row() })
}

func (x *Execution) runDistinctPages(in int, row func() bool) bool {
	x.restoreDistinct()
	return x.rowsOf(in, func() bool {
		given := x.wasReturned()
		if given && !x.replay {
			return true
		}
		return x.ifFirst(given || x.isReplayed(), row)
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
