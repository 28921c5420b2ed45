package work

import (
	"context"
	"math"
	"runtime/debug"

	"golang.org/x/sync/semaphore"

	"github.com/mayflydb/mayfly/query"
)

// DefaultMemory is the memory of all requests together, in bytes, if store.Options.Memory is 0.
const DefaultMemory = 256 << 20

// minMemory is the minimum budget in bytes, even if GOMEMLIMIT is smaller.
const minMemory = 640 << 10

// MemoryBudget is the common budget of bytes for running requests: the rows that queries keep to sort, group
// and deduplicate, and the responses that are being built or sent. One request may use a tenth of it. It is
// safe for concurrent use.
type MemoryBudget struct {
	room  *semaphore.Weighted
	large *semaphore.Weighted // the half of the budget for messages that are larger than Share
	most  int64
}

// NewMemory returns a budget of most bytes (0: DefaultMemory), but at most a quarter of GOMEMLIMIT.
func NewMemory(most int64) *MemoryBudget {
	if most <= 0 {
		most = DefaultMemory
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		most = min(most, limit/4)
	}
	most = max(most, minMemory)
	return &MemoryBudget{semaphore.NewWeighted(most), semaphore.NewWeighted(most / 2), most}
}

// Size returns the number of bytes for all requests.
func (m *MemoryBudget) Size() int64 { return m.most }

// Share returns the number of bytes that one request may use.
func (m *MemoryBudget) Share() int64 { return m.most / 10 }

// Take takes n bytes and waits until they are free. It returns the error of ctx.
func (m *MemoryBudget) Take(ctx context.Context, n int64) error { return m.room.Acquire(ctx, n) }

// TryTake takes n bytes if they are free.
func (m *MemoryBudget) TryTake(n int64) bool { return m.room.TryAcquire(n) }

// Give returns n bytes to the budget.
func (m *MemoryBudget) Give(n int64) { m.room.Release(n) }

// TakeLarge takes n bytes for one message that may be larger than the share of the memory that one request
// may have. Half of the memory is available for such messages. They wait for one another before they wait for
// the whole budget, so that no other request waits behind two large messages. A message that is larger than
// this half takes the whole half.
func (m *MemoryBudget) TakeLarge(ctx context.Context, n int64) error {
	n = min(n, m.most/2)
	if err := m.large.Acquire(ctx, n); err != nil {
		return err
	}
	if err := m.room.Acquire(ctx, n); err != nil {
		m.large.Release(n)
		return err
	}
	return nil
}

// GiveLarge gives back the memory that TakeLarge has taken when it was called with the same n.
func (m *MemoryBudget) GiveLarge(n int64) {
	n = min(n, m.most/2)
	m.room.Release(n)
	m.large.Release(n)
}

// Attach makes a run of a query take the memory for the rows that it keeps from the budget. It returns a
// function that gives this memory back, which the caller must call when the run has ended.
func (m *MemoryBudget) Attach(env *query.Env) (back func()) {
	held := int64(0)
	env.MaxHeld = int(m.Share())
	env.Hold = func(n int) bool {
		if !m.TryTake(int64(n)) {
			return false
		}
		held += int64(n)
		return true
	}
	return func() { m.Give(held) }
}
