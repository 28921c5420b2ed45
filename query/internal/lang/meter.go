package lang

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/fault"
)

// DefaultLimit is how long a run may take where Env.Limit does not say.
const DefaultLimit = 30 * time.Second

const (
	// LookEvery is how much work is done between two looks at the time. The unit is about a byte that is gone
	// through.
	LookEvery = 256 << 10
	// RowWork is the work of a row of a source, besides what is done with it.
	RowWork = 256
	// EntryWork is the work of an entry of an index, besides what is done with it.
	EntryWork = 64
	// heldArgument is the size from which a value counts as memory while the other operands are evaluated.
	heldArgument = 4 << 10
	// maxMade is how many bytes one value or one row may have that a query makes.
	maxMade = 16 << 20
	// MaxFolding is how often the work of folding constants may be looked at.
	MaxFolding = 32
)

// errCostly ends the folding of a constant.
var errCostly = errors.New("query: too costly to be calculated in advance")

// Meter bounds what a run may cost. Loops tell it of their work by spend and end where that is false. Now and
// then it looks at the context and at the watch. The zero meter bounds nothing.
type Meter struct {
	Ctx     context.Context
	Elapsed func() time.Duration
	Limit   time.Duration // of elapsed; 0: none
	Turn    func(context.Context) error
	Left    int   // work before the next look
	Looks   int   // that may follow before the run is given up, for what has no watch; 0: any number
	Err     error // what ends the run: the first error

	NoTemp bool // there are no temporary files

	Most  int                  // of used and of retained; 0: MaxHeld
	Ask   func(bytes int) bool // see Env.Hold; nil: nobody is asked
	Asked int                  // bytes that may be used by now

	Used     int // bytes that DISTINCT, GROUP BY and lists hold
	Retained int // bytes of values that wait for other operands
}

// Spend notes n units of work. It is false where the run has ended: what is calculated from there on counts
// for nothing.
func (m *Meter) Spend(n int) bool {
	if m.Left -= n; m.Left < 0 {
		m.Look()
	}
	return m.Err == nil
}

// Look asks the context and the watch whether the run has to end.
func (m *Meter) Look() bool {
	m.Left = LookEvery
	if m.Looks > 0 {
		if m.Looks--; m.Looks == 0 {
			m.Fail(errCostly)
		}
	}
	if m.Ctx == nil {
		return m.Err == nil
	}
	if err := m.Ctx.Err(); err != nil {
		m.Fail(err)
	} else if m.Limit > 0 && m.Elapsed != nil && m.Elapsed() > m.Limit {
		m.Fail(&fault.TimeError{Limit: m.Limit})
	} else if m.Turn != nil {
		if err := m.Turn(m.Ctx); err != nil {
			m.Fail(err)
		}
	}
	return m.Err == nil
}

// folding reports whether the work is done before the query runs.
func (m *Meter) folding() bool { return m.Looks > 0 }

// Fail ends the run with an error, unless it has ended already.
func (m *Meter) Fail(err error) {
	if m.Err == nil {
		m.Err = err
	}
}

// Hold notes bytes that are kept, in held as well, and fails beyond the limit.
func (m *Meter) Hold(held *int, n int, clause string) {
	*held += n
	m.Use(n, clause)
}

// Use is hold for what nobody counts apart.
func (m *Meter) Use(n int, clause string) {
	if m.Used += n; m.Used > m.LimitHeld() {
		spills := clause == "GROUP BY" || clause == "ORDER BY" || clause == "DISTINCT"
		m.Fail(&fault.MemoryError{Clause: clause, Max: m.LimitHeld(), NoTemp: m.NoTemp && spills})
		return
	}
	m.claim(m.Used+m.Retained, clause)
}

// claim asks for memory, if it is more than what has been asked for.
func (m *Meter) claim(n int, clause string) {
	if m.Ask == nil || n <= m.Asked || m.Err != nil {
		return
	}
	more := max(n-m.Asked, heldStep)
	if !m.Ask(more) {
		m.Fail(&fault.BusyError{Clause: clause})
		return
	}
	m.Asked += more
}

// LimitHeld returns how many bytes may be kept.
func (m *Meter) LimitHeld() int { return cmp.Or(m.Most, MaxHeld) }

// Compare puts two keys in order. Sorting by it ends soon once the run has ended: then all are alike.
func (m *Meter) Compare(a, b []byte) int {
	if !m.Spend(16 + min(len(a), len(b))) {
		return 0
	}
	return bytes.Compare(a, b)
}

// Retain notes a value that is kept while others are evaluated, and returns what is to be taken off retained
// then.
func (m *Meter) Retain(v jsondoc.Value) int {
	n := v.TextLen()
	if n <= heldArgument {
		return 0
	}
	if m.Retained += n; m.Retained > m.LimitHeld() {
		m.Fail(&fault.MemoryError{Clause: "an expression", Max: m.LimitHeld()})
	}
	m.claim(m.Used+m.Retained, "an expression")
	return n
}

// Fits reports whether a text that a query makes is not too long, and fails where it is.
func (m *Meter) Fits(text []byte) bool {
	if len(text) > maxMade {
		m.Fail(&fault.MemoryError{Clause: "one value", Max: maxMade})
	}
	return m.Err == nil
}

// Work is what it takes to go through values.
func Work(values ...jsondoc.Value) (n int) {
	for i := range values {
		n += 16 + values[i].TextLen()
	}
	return n
}

// MaxHeld is how many bytes the intermediate results of a query may have, HeldFree how many it is not asked
// for, and heldStep how many it asks for at once.
const (
	MaxHeld  = 64 << 20
	HeldFree = 64 << 10
	heldStep = 256 << 10
)
