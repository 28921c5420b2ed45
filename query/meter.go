package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/doc"
)

// DefaultLimit is how long a run may take where Env.Limit does not say.
const DefaultLimit = 30 * time.Second

const (
	// lookEvery is how much work is done between two looks at the time. The unit is about a byte that is gone
	// through.
	lookEvery = 256 << 10
	// rowWork and entryWork are the work of a row of a source and of an entry of an index, besides what is
	// done with them.
	rowWork   = 256
	entryWork = 64
	// heldArgument is the size from which a value counts as memory while the other operands are evaluated.
	heldArgument = 4 << 10
	// maxMade is how many bytes one value or one row may have that a query makes.
	maxMade = 16 << 20
	// maxFolding is how often the work of folding constants may be looked at.
	maxFolding = 32
)

// errCostly ends the folding of a constant.
var errCostly = errors.New("query: too costly to be calculated in advance")

// meter bounds what a run may cost. Loops tell it of their work by spend and end where that is false. Now and
// then it looks at the context and at the watch. The zero meter bounds nothing.
type meter struct {
	ctx     context.Context
	elapsed func() time.Duration
	limit   time.Duration // of elapsed; 0: none
	turn    func(context.Context) error
	left    int   // work before the next look
	looks   int   // that may follow before the run is given up, for what has no watch; 0: any number
	err     error // what ends the run: the first error

	noTemp bool // there are no temporary files

	most  int                  // of used and of retained; 0: maxHeld
	ask   func(bytes int) bool // see Env.Hold; nil: nobody is asked
	asked int                  // bytes that may be used by now

	used     int // bytes that DISTINCT, GROUP BY and lists hold
	retained int // bytes of values that wait for other operands
}

// spend notes n units of work. It is false where the run has ended: what is calculated from there on counts
// for nothing.
func (m *meter) spend(n int) bool {
	if m.left -= n; m.left < 0 {
		m.look()
	}
	return m.err == nil
}

// look asks the context and the watch whether the run has to end.
func (m *meter) look() bool {
	m.left = lookEvery
	if m.looks > 0 {
		if m.looks--; m.looks == 0 {
			m.fail(errCostly)
		}
	}
	if m.ctx == nil {
		return m.err == nil
	}
	if err := m.ctx.Err(); err != nil {
		m.fail(err)
	} else if m.limit > 0 && m.elapsed != nil && m.elapsed() > m.limit {
		m.fail(&TimeError{Limit: m.limit})
	} else if m.turn != nil {
		if err := m.turn(m.ctx); err != nil {
			m.fail(err)
		}
	}
	return m.err == nil
}

// folding tells that the work is done before the query runs.
func (m *meter) folding() bool { return m.looks > 0 }

func (m *meter) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// hold notes bytes that are kept, in held as well, and fails beyond the limit.
func (m *meter) hold(held *int, n int, clause string) {
	*held += n
	m.use(n, clause)
}

// use is hold for what nobody counts apart.
func (m *meter) use(n int, clause string) {
	if m.used += n; m.used > m.limitHeld() {
		spills := clause == "GROUP BY" || clause == "ORDER BY" || clause == "DISTINCT"
		m.fail(&MemoryError{Clause: clause, Max: m.limitHeld(), NoTemp: m.noTemp && spills})
		return
	}
	m.claim(m.used+m.retained, clause)
}

// claim asks for memory, if it is more than what has been asked for.
func (m *meter) claim(n int, clause string) {
	if m.ask == nil || n <= m.asked || m.err != nil {
		return
	}
	more := max(n-m.asked, heldStep)
	if !m.ask(more) {
		m.fail(&BusyError{Clause: clause})
		return
	}
	m.asked += more
}

func (m *meter) limitHeld() int { return cmp.Or(m.most, maxHeld) }

// compare puts two keys in order. Sorting by it ends soon once the run has ended: then all are alike.
func (m *meter) compare(a, b []byte) int {
	if !m.spend(16 + min(len(a), len(b))) {
		return 0
	}
	return bytes.Compare(a, b)
}

// retain notes a value that is kept while others are evaluated, and returns what is to be taken off retained
// then.
func (m *meter) retain(v doc.Value) int {
	n := v.TextLen()
	if n <= heldArgument {
		return 0
	}
	if m.retained += n; m.retained > m.limitHeld() {
		m.fail(&MemoryError{Clause: "an expression", Max: m.limitHeld()})
	}
	m.claim(m.used+m.retained, "an expression")
	return n
}

// fits tells whether a text that a query makes is not too long, and fails where it is.
func (m *meter) fits(text []byte) bool {
	if len(text) > maxMade {
		m.fail(&MemoryError{Clause: "one value", Max: maxMade})
	}
	return m.err == nil
}

// work is what it takes to go through values.
func work(values ...doc.Value) (n int) {
	for i := range values {
		n += 16 + values[i].TextLen()
	}
	return n
}

// maxHeld is how many bytes the intermediate results of a query may have, heldFree how many it is not asked
// for, and heldStep how many it asks for at once.
const (
	maxHeld  = 64 << 20
	heldFree = 64 << 10
	heldStep = 256 << 10
)
