package lang

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
)

// DefaultLimit is the time limit of one run of a query if eval.Env.Limit is not set.
const DefaultLimit = 30 * time.Second

const (
	// LookEvery is how much work is done between two checks of the time. A unit of work is about one byte
	// that is read.
	LookEvery = 256 << 10
	// RowWork is the work, in units of ResourceLimiter.Spend, of producing one row from a source such as a
	// container. It does not include what the query does with the row.
	RowWork = 256
	// EntryWork is the work, in units of ResourceLimiter.Spend, of reading one index entry.
	EntryWork = 64
	// heldArgument is the size in bytes up to which a value is not counted as memory while the other operands
	// of its operator are evaluated.
	heldArgument = 4 << 10
	// maxMade is the maximum size in bytes of a value or a row that a query computes.
	maxMade = 16 << 20
	// MaxFolding limits the work of computing the constant expressions of a query in advance. It is a number
	// of calls of ResourceLimiter.Look. An expression beyond it is computed when the query runs.
	MaxFolding = 32
)

// errCostly ends the folding of a constant that is too expensive to compute before the query runs.
var errCostly = errors.New("query: too costly to be calculated in advance")

// ResourceLimiter enforces the limits of time, work and memory of one run of a query. Loops report their work
// to Spend and end if it returns false. After each LookEvery units of work Spend checks the context and the
// elapsed time. The zero ResourceLimiter has no limits.
type ResourceLimiter struct {
	Ctx     context.Context
	Elapsed func() time.Duration
	Limit   time.Duration // of Elapsed; 0: no limit
	Turn    func(context.Context) error
	Left    int   // work until the next check
	Looks   int   // remaining checks of the time before the run ends; used if Elapsed is nil; 0: unlimited
	Err     error // the first error, which ends the run

	NoTemp bool // there are no temporary files

	Most    int                  // limit of Used and Retained; 0: MaxHeld
	Request func(bytes int) bool // see eval.Env.Hold; nil: memory need not be requested
	Granted int                  // bytes that have been granted

	Used     int // bytes that DISTINCT, GROUP BY and lists use
	Retained int // bytes of values kept while other operands are evaluated
}

// Spend counts n units of work. It returns false if the run has ended; results computed afterwards are
// discarded.
func (m *ResourceLimiter) Spend(n int) bool {
	if m.Left -= n; m.Left < 0 {
		m.Look()
	}
	return m.Err == nil
}

// Look checks the context and the elapsed time, and returns false if the run has ended.
func (m *ResourceLimiter) Look() bool {
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
		m.Fail(&queryerror.TimeLimitError{Limit: m.Limit})
	} else if m.Turn != nil {
		if err := m.Turn(m.Ctx); err != nil {
			m.Fail(err)
		}
	}
	return m.Err == nil
}

// folding reports whether constants are being folded, before the query runs.
func (m *ResourceLimiter) folding() bool { return m.Looks > 0 }

// Fail ends the run with an error, unless it has already ended.
func (m *ResourceLimiter) Fail(err error) {
	if m.Err == nil {
		m.Err = err
	}
}

// Hold adds n bytes to the memory of the run and to *held, the caller's own count. If the limit is
// exceeded, it ends the run with an error that names clause, such as GROUP BY.
func (m *ResourceLimiter) Hold(held *int, n int, clause string) {
	*held += n
	m.Use(n, clause)
}

// Use adds n bytes to the memory of the run. If the limit is exceeded, it ends the run with an error that
// names clause, such as GROUP BY.
func (m *ResourceLimiter) Use(n int, clause string) {
	if m.Used += n; m.Used > m.LimitHeld() {
		spills := clause == "GROUP BY" || clause == "ORDER BY" || clause == "DISTINCT"
		m.Fail(&queryerror.MemoryError{Clause: clause, Max: m.LimitHeld(), NoTemp: m.NoTemp && spills})
		return
	}
	m.claim(m.Used+m.Retained, clause)
}

// claim requests more memory from the server (Request) if the run of the query needs n bytes and has been
// granted fewer. If the request is refused, the query ends with a MemoryUnavailableError that names clause,
// the clause that needs the memory.
func (m *ResourceLimiter) claim(n int, clause string) {
	if m.Request == nil || n <= m.Granted || m.Err != nil {
		return
	}
	more := max(n-m.Granted, heldStep)
	if !m.Request(more) {
		m.Fail(&queryerror.MemoryUnavailableError{Clause: clause})
		return
	}
	m.Granted += more
}

// LimitHeld returns the maximum number of bytes that the run of the query may keep in memory.
func (m *ResourceLimiter) LimitHeld() int { return cmp.Or(m.Most, MaxHeld) }

// Compare compares two keys. After the end of the run it returns 0 for all keys, so that a sort ends
// quickly.
func (m *ResourceLimiter) Compare(a, b []byte) int {
	if !m.Spend(16 + min(len(a), len(b))) {
		return 0
	}
	return bytes.Compare(a, b)
}

// Retain counts the memory of an operand's value that is kept while other operands are evaluated. It
// returns the number of bytes, which the caller subtracts from Retained afterwards.
func (m *ResourceLimiter) Retain(v jsondoc.Value) int {
	n := v.TextLen()
	if n <= heldArgument {
		return 0
	}
	if m.Retained += n; m.Retained > m.LimitHeld() {
		m.Fail(&queryerror.MemoryError{Clause: "an expression", Max: m.LimitHeld()})
	}
	m.claim(m.Used+m.Retained, "an expression")
	return n
}

// Fits reports whether a text made by the query is within the limit, and ends the run if it is not.
func (m *ResourceLimiter) Fits(text []byte) bool {
	if len(text) > maxMade {
		m.Fail(&queryerror.MemoryError{Clause: "one value", Max: maxMade})
	}
	return m.Err == nil
}

// Work returns the amount of work, in the units of ResourceLimiter.Spend, of reading each of the values once.
func Work(values ...jsondoc.Value) (n int) {
	for i := range values {
		n += 16 + values[i].TextLen()
	}
	return n
}

// MaxHeld is the maximum size in bytes of the intermediate results of a query. A run may use HeldFree bytes
// without a request; further memory is requested heldStep bytes at a time.
const (
	MaxHeld  = 64 << 20
	HeldFree = 64 << 10
	heldStep = 256 << 10
)
