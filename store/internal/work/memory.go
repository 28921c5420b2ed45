package work

import (
	"context"
	"math"
	"runtime/debug"

	"golang.org/x/sync/semaphore"

	"github.com/mayflydb/mayfly/query"
)

// DefaultMemory is how many bytes requests may hold together where Options.Memory does not say.
const DefaultMemory = 256 << 20

// minMemory is what is left of it by however small a GOMEMLIMIT.
const minMemory = 640 << 10

// Memory is the one budget of what requests hold while they are under way: the rows that queries keep to
// sort, group and tell them apart, and the answers that are made or written. One request may have a tenth of
// it. It is used concurrently.
type Memory struct {
	room  *semaphore.Weighted
	large *semaphore.Weighted // of what is larger than a share
	most  int64
}

// NewMemory is a budget of so many bytes, 0 for DefaultMemory, and of no more than a quarter of GOMEMLIMIT.
func NewMemory(most int64) *Memory {
	if most <= 0 {
		most = DefaultMemory
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		most = min(most, limit/4)
	}
	most = max(most, minMemory)
	return &Memory{semaphore.NewWeighted(most), semaphore.NewWeighted(most / 2), most}
}

// Size is how many bytes there are for all requests.
func (m *Memory) Size() int64 { return m.most }

// Share is how many bytes one request may have.
func (m *Memory) Share() int64 { return m.most / 10 }

// Take waits for n bytes with a context, whose error it returns.
func (m *Memory) Take(ctx context.Context, n int64) error { return m.room.Acquire(ctx, n) }

// TryTake takes n bytes if they are there.
func (m *Memory) TryTake(n int64) bool { return m.room.TryAcquire(n) }

// Give gives n bytes back.
func (m *Memory) Give(n int64) { m.room.Release(n) }

// TakeLarge waits for n bytes for one message that may be larger than a share: half of the memory is for such
// messages, and they wait for one another before they wait for the rest, so that nobody waits behind one that
// waits for another. A message that is larger than this half has all of it.
func (m *Memory) TakeLarge(ctx context.Context, n int64) error {
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

// GiveLarge gives back what TakeLarge has taken for n bytes.
func (m *Memory) GiveLarge(n int64) {
	n = min(n, m.most/2)
	m.room.Release(n)
	m.large.Release(n)
}

// Lend lets a run of a query take what it keeps out of the budget. The caller calls back when the run has
// ended.
func (m *Memory) Lend(env *query.Env) (back func()) {
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
