package eval

import (
	"encoding/binary"
	"errors"

	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/spill"
)

// Spill writes the groups in memory to a file, sorted by key, and removes them from memory. If a later row
// belongs to a group that was written, the group is continued as another part. The parts are merged at the
// end.
func (g *Grouper) Spill() {
	run := g.f.Run
	if g.Runs == nil {
		g.Runs = run.Env.Temp.NewSorter(0, run.Spend)
	}
	g.sortByKey()
	run.Spilled(g.WriteTo(g.Runs), "GROUP BY")
	for _, one := range g.Groups {
		g.drop(one)
	}
	clear(g.Groups)
	g.Groups = g.Groups[:0]
	clear(g.byKey)
}

// drop subtracts a group, which the caller removes from memory, from the counters of groups and their memory.
func (g *Grouper) drop(one *GroupState) {
	one.spilled = true
	*g.held -= one.size
	g.f.Run.Used -= one.size
}

// WriteTo writes the groups in memory to a sorter.
func (g *Grouper) WriteTo(s *spill.Sorter) error {
	return s.Run(func(add func(key, payload []byte) error) error {
		for _, one := range g.Groups {
			g.record = one.Append(g.record[:0])
			if err := add([]byte(one.key), g.record); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close removes the temporary files.
func (g *Grouper) Close() {
	if g.Runs != nil {
		g.Runs.Close()
	}
}

// eachSpilled makes each group the current one of the frame and calls fn, until fn returns false. It is used
// if groups are in files, and are to be returned in another order than that of their keys, in which the files
// are sorted.
func (g *Grouper) eachSpilled(fn func() bool) bool {
	parts := g.Merged()
	defer parts.Close()
	all := g.inQueryOrder(parts)
	defer all.Close()
	for {
		one := all.Next(g)
		if one == nil {
			return g.f.Run.Err == nil
		}
		g.LoadResults(one)
		if !fn() {
			return false
		}
	}
}

// Merged returns the groups in the order of their keys.
func (g *Grouper) Merged() *SpilledGroupReader {
	if len(g.Groups) > 0 {
		g.Spill()
	}
	it, err := g.Runs.Sort()
	g.f.Run.Spilled(err, "GROUP BY")
	return &SpilledGroupReader{It: it}
}

// inQueryOrder sorts groups in the order of the query. Groups that are equal in this order stay in the order
// in which they were found.
func (g *Grouper) inQueryOrder(all *SpilledGroupReader) *SpilledGroupReader {
	run := g.f.Run
	sorter := run.Env.Temp.NewSorter(run.LimitHeld()/8, run.Spend)
	defer sorter.Close()
	var key []byte
	for one := all.Next(g); one != nil; one = all.Next(g) {
		key = binary.BigEndian.AppendUint64(g.orderKey(key[:0], one), one.number)
		g.record = one.Append(g.record[:0])
		if !run.Spilled(sorter.Add(key, g.record), "ORDER BY") {
			break
		}
	}
	it, err := sorter.Sort()
	run.Spilled(err, "ORDER BY")
	return &SpilledGroupReader{It: it}
}

// SpilledGroupReader reads groups from files, one at a time.
type SpilledGroupReader struct {
	It   *spill.Iterator // nil: no groups
	One  *GroupState
	Held int
}

// Next returns the next group. It returns nil at the end, or if the run has ended.
func (r *SpilledGroupReader) Next(g *Grouper) *GroupState {
	run := g.f.Run
	run.Hold(g.held, -r.Held, "GROUP BY")
	r.One, r.Held = nil, 0
	for r.It != nil && r.It.Next() {
		if r.One == nil {
			r.One = g.empty()
			r.One.key = string(r.It.Key())
		} else if r.One.key != string(r.It.Key()) {
			r.It.Unread()
			break
		}
		if !r.One.merge(r.It.Payload()) {
			run.Spilled(&spill.Error{Op: "read", Err: spill.ErrCorrupt}, "GROUP BY")
		}
		size := 0
		for _, state := range r.One.State {
			size += state.Size()
		}
		run.Hold(g.held, size-r.Held, "GROUP BY")
		r.Held = size
	}
	if r.It != nil {
		run.Spilled(r.It.Err(), "GROUP BY")
	}
	if run.Err != nil {
		return nil
	}
	return r.One
}

// Close removes the temporary files.
func (r *SpilledGroupReader) Close() {
	if r.It != nil {
		r.It.Close()
	}
}

// Spilled ends the run if err, the error of a temporary file, is not nil. It returns false if the run has
// ended. clause names the clause that used the file.
func (r *QueryRunState) Spilled(err error, clause string) bool {
	if err != nil && !errors.Is(err, spill.ErrStopped) {
		r.Fail(&queryerror.MemoryError{Clause: clause, Max: r.LimitHeld(), Err: err})
	}
	return r.Err == nil
}
