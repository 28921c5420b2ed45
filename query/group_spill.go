package query

import (
	"encoding/binary"
	"errors"

	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/spill"
)

// spill writes the groups that are in memory as a sorted run, and begins anew: a group that comes again is
// another part of it. The parts are put together at the end.
func (g *grouper) spill() {
	run := g.f.run
	if g.runs == nil {
		g.runs = run.env.Temp.NewSorter(0, run.Spend)
	}
	g.sortByKey()
	run.spilled(g.writeTo(g.runs), "GROUP BY")
	for _, one := range g.groups {
		g.drop(one)
	}
	clear(g.groups)
	g.groups = g.groups[:0]
	clear(g.byKey)
}

// drop notes that a group is not in memory any more.
func (g *grouper) drop(one *bucket) {
	one.gone = true
	*g.held -= one.size
	g.f.run.Used -= one.size
}

func (g *grouper) writeTo(s *spill.Sorter) error {
	return s.Run(func(add func(key, payload []byte) error) error {
		for _, one := range g.groups {
			g.record = one.append(g.record[:0])
			if err := add([]byte(one.key), g.record); err != nil {
				return err
			}
		}
		return nil
	})
}

// close removes the files.
func (g *grouper) close() {
	if g.runs != nil {
		g.runs.Close()
	}
}

// eachSpilled is each where groups are in files and the order is not that of their keys.
func (g *grouper) eachSpilled(fn func() bool) bool {
	parts := g.merged()
	defer parts.close()
	all := g.inTurn(parts)
	defer all.close()
	for {
		one := all.next(g)
		if one == nil {
			return g.f.run.Err == nil
		}
		g.show(one)
		if !fn() {
			return false
		}
	}
}

// merged are the groups in the order of their keys.
func (g *grouper) merged() *groupRest {
	if len(g.groups) > 0 {
		g.spill()
	}
	it, err := g.runs.Sort()
	g.f.run.spilled(err, "GROUP BY")
	return &groupRest{it: it}
}

// inTurn puts groups in the order of the query, equal ones in that in which they turned up.
func (g *grouper) inTurn(all *groupRest) *groupRest {
	run := g.f.run
	sorter := run.env.Temp.NewSorter(run.LimitHeld()/8, run.Spend)
	defer sorter.Close()
	var key []byte
	for one := all.next(g); one != nil; one = all.next(g) {
		key = binary.BigEndian.AppendUint64(g.orderKey(key[:0], one), one.turn)
		g.record = one.append(g.record[:0])
		if !run.spilled(sorter.Add(key, g.record), "ORDER BY") {
			break
		}
	}
	it, err := sorter.Sort()
	run.spilled(err, "ORDER BY")
	return &groupRest{it: it}
}

// groupRest are groups in files, and one that was taken out of them.
type groupRest struct {
	it   *spill.Iterator // nil: there are none
	one  *bucket
	held int
}

// next returns the next group; nil: there is none, or the run has ended.
func (r *groupRest) next(g *grouper) *bucket {
	run := g.f.run
	run.Hold(g.held, -r.held, "GROUP BY")
	r.one, r.held = nil, 0
	for r.it != nil && r.it.Next() {
		if r.one == nil {
			r.one = g.empty()
			r.one.key = string(r.it.Key())
		} else if r.one.key != string(r.it.Key()) {
			r.it.Unread()
			break
		}
		if !r.one.merge(r.it.Payload()) {
			run.spilled(&spill.Error{Op: "read", Err: spill.ErrCorrupt}, "GROUP BY")
		}
		size := 0
		for _, state := range r.one.state {
			size += state.Size()
		}
		run.Hold(g.held, size-r.held, "GROUP BY")
		r.held = size
	}
	if r.it != nil {
		run.spilled(r.it.Err(), "GROUP BY")
	}
	if run.Err != nil {
		return nil
	}
	return r.one
}

func (r *groupRest) close() {
	if r.it != nil {
		r.it.Close()
	}
}

// spilled ends the run where a temporary file has failed. It is false where the run has ended.
func (r *run) spilled(err error, clause string) bool {
	if err != nil && !errors.Is(err, spill.ErrStopped) {
		r.Fail(&fault.MemoryError{Clause: clause, Max: r.LimitHeld(), Err: err})
	}
	return r.Err == nil
}
