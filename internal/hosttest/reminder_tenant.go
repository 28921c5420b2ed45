package hosttest

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/ttl"
)

// ReminderTenant is a tenant for tests: a kind of data on package host, beside documents and queues. It
// stores reminders in books, which are named sets. Each reminder has a deadline in milliseconds, after
// which it is not returned any more and the reaper purges it. Expired items of other data can be moved to
// a book (host.ExpiredItemSink).
//
//	00 · n · 0 · name   a book: its number
//	number · d · id     a reminder: its deadline, then its text
//	number · x · due · id
//	number · w          the millisecond of the last write or purge
type ReminderTenant struct {
	// Broken is the error that Open returns, and Unlisted the error of the list of ranges for the reaper;
	// nil: none.
	Broken, Unlisted error
	live             atomic.Pointer[openedReminderTenant]
}

// Kind names books (named sets of reminders) among the kinds of expiry sinks, places to which expired
// items are moved.
const Kind = "book"

// ErrNoBook is returned for a book (a named set of reminders) that does not exist.
var ErrNoBook = errors.New("there is no such book")

// storedReminderCollection is the stored record of a book, which is a named set of reminders.
type storedReminderCollection struct {
	Number uint32 `json:"number"`
}

// reminderCollection is a named collection of reminders, with the prefix of their keys.
type reminderCollection struct {
	scope  []byte
	pass   host.SweepPassPosition
	rescan atomic.Bool
}

// openedReminderTenant is the state in memory of a ReminderTenant (a small example tenant for tests of the
// host) that the host has opened on one engine.
type openedReminderTenant struct {
	tenant *ReminderTenant
	in     *host.EngineInstance
	gate   host.CancelableRWLock // shared by writes and purges; held exclusively while a clock is set back
	mu     sync.RWMutex          // guards books
	books  map[string]*reminderCollection
	latest atomic.Int64 // the latest millisecond that is stored
}

func bookScope(number uint32) []byte { return binary.BigEndian.AppendUint32(nil, number|1<<30) }

func (b *reminderCollection) key(family byte) []byte {
	return append(append([]byte(nil), b.scope...), family)
}

func (b *reminderCollection) item(id uint64) []byte {
	return binary.BigEndian.AppendUint64(b.key('d'), id)
}

// KeySpace returns the range of keys that belongs to the tenant: see host.Tenant.
func (t *ReminderTenant) KeySpace() host.TenantKeySpace {
	return host.TenantKeySpace{Name: "reminders", Kinds: "n", First: 0x40, Last: 0x7F}
}

// Scopes returns the engine scopes (key prefixes with their own sequences of LSNs) of all books: see
// host.Tenant.
func (t *ReminderTenant) Scopes(r engine.Reader) (scopes [][]byte, err error) {
	err = host.ScanRecords(r, 'n', func(_ []byte, rec storedReminderCollection) error {
		scopes = append(scopes, bookScope(rec.Number))
		return nil
	})
	return scopes, err
}

// Open opens the tenant on an engine: see host.Tenant.
func (t *ReminderTenant) Open(ctx context.Context, in *host.EngineInstance) (host.OpenedTenant, error) {
	m := &openedReminderTenant{tenant: t, in: in, gate: host.NewGate(),
		books: make(map[string]*reminderCollection)}
	err := in.Engine().View(ctx, func(r engine.Reader) error {
		return host.ScanRecords(r, 'n', func(key []byte, rec storedReminderCollection) error {
			b := &reminderCollection{scope: bookScope(rec.Number)}
			m.books[string(key[host.CatalogHead:len(key)-2])] = b
			if v, err := r.Get(b.key('w')); err == nil {
				m.note(int64(binary.BigEndian.Uint64(v)))
			}
			return nil
		})
	})
	return host.OpenedTenant{Life: m, Sweep: m, ClockObserver: m,
		Sinks:        map[string]host.FindExpirySinkFunc{Kind: m.sink},
		SnapshotNote: func() (string, any) { return "books", len(m.books) }}, errors.Join(err, t.Broken)
}

// Recover does nothing, since a crash leaves nothing to finish: see host.TenantLifecycleCallbacks.
func (m *openedReminderTenant) Recover(context.Context) error { return nil }

// Start makes m the state that the methods of its tenant use from now on. The host calls it after opening and
// after a restore.
func (m *openedReminderTenant) Start() { m.tenant.live.Store(m) }

// Stop does nothing: see host.TenantLifecycleCallbacks.
func (m *openedReminderTenant) Stop() {}

// Leave does nothing: see host.TenantLifecycleCallbacks.
func (m *openedReminderTenant) Leave(context.Context) error { return nil }

// Gone is called after the engine was closed. It does nothing. It implements host.TenantLifecycleCallbacks.
func (m *openedReminderTenant) Gone() {}

func (m *openedReminderTenant) note(ms int64) {
	for last := m.latest.Load(); last < ms && !m.latest.CompareAndSwap(last, ms); last = m.latest.Load() {
	}
	m.in.Clock().RaiseMillis(ms)
}

// Ranges returns the ranges to sweep, one for each book (a named set of reminders): see ttl.Sweeper.
func (m *openedReminderTenant) Ranges(context.Context) (list []ttl.SweepRange, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, b := range m.books {
		list = append(list, ttl.SweepRange{Owner: binary.BigEndian.Uint32(b.scope)})
	}
	return list, m.tenant.Unlisted
}

// Clock returns nil: all ranges have the reaper's clock.
func (m *openedReminderTenant) Clock(ttl.SweepRange) ttl.Clock { return nil }

// Sweep purges reminders of one book that are due: see ttl.Sweeper.
func (m *openedReminderTenant) Sweep(ctx context.Context, rg ttl.SweepRange,
	limit int) (swept ttl.SweepResult, err error) {
	b := m.find(func(b *reminderCollection) bool { return binary.BigEndian.Uint32(b.scope) == rg.Owner })
	if b == nil || m.in.ReaperPaused() {
		return ttl.SweepResult{Next: host.Never}, nil
	}
	if err := m.gate.Share(ctx); err != nil {
		return swept, err
	}
	defer m.gate.Leave()
	if b.rescan.Swap(false) {
		b.pass.Restart(0)
	}
	now := m.in.Clock().Millis()
	step := host.SweepPassStep{Pass: &b.pass, Prefix: b.key('x'), Cutoff: now}
	step.Announce()
	var due []host.DeadlineIndexEntry
	next := int64(host.Never)
	err = m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		if due, err = step.Walk(r, nil, limit, nil); err == nil {
			next, err = step.Ahead(r)
		}
		return err
	})
	if err != nil {
		return swept, err
	}
	_, err = m.in.Engine().Update(ctx, [][]byte{b.scope}, func(t engine.Txn) error {
		for _, e := range due {
			t.Delete(host.AppendEntry(b.key('x'), e))
			t.Delete(b.item(e.ID))
		}
		if len(due) > 0 {
			m.recordTime(t, b, now)
		}
		t.Relax()
		return nil
	})
	if err != nil {
		b.rescan.Store(true)
		return swept, err
	}
	swept.More, _ = step.Finish()
	swept.Purged, swept.Next = len(due), next
	if next < host.Never {
		swept.Next = (next + 999) / 1000
	}
	return swept, nil
}

// recordTime stores now, in milliseconds since 1970, as the time of the last write to the collection b.
func (m *openedReminderTenant) recordTime(t engine.Txn, b *reminderCollection, now int64) {
	m.note(now)
	t.Set(b.key('w'), binary.BigEndian.AppendUint64(nil, uint64(now)))
}

func (m *openedReminderTenant) find(is func(*reminderCollection) bool) *reminderCollection {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, b := range m.books {
		if is(b) {
			return b
		}
	}
	return nil
}

// Clocks returns nil: the tenant has no clocks of its own, since the times of all reminders come from the
// server's clock. See host.ClockMoveParticipant.
func (m *openedReminderTenant) Clocks() []*host.NonDecreasingClock { return nil }

func (m *openedReminderTenant) isAffected(clocks []*host.NonDecreasingClock) bool {
	for _, c := range clocks {
		if c == m.in.Clock() {
			return true
		}
	}
	return false
}

// Hold stops writes and purges until release is called: see host.ClockMoveParticipant.
func (m *openedReminderTenant) Hold(ctx context.Context, clocks []*host.NonDecreasingClock) (release func(),
	err error) {
	if !m.isAffected(clocks) {
		return func() {}, nil
	}
	return m.gate.Open, m.gate.Shut(ctx)
}

// Latest returns the latest time that is stored: see host.ClockMoveParticipant.
func (m *openedReminderTenant) Latest(clocks []*host.NonDecreasingClock) host.StoredEventTime {
	if !m.isAffected(clocks) || m.latest.Load() == 0 {
		return host.StoredEventTime{}
	}
	return host.StoredEventTime{At: time.UnixMilli(m.latest.Load()), What: "a reminder was written or purged"}
}

// Expired returns the latest deadline of a stored reminder that has passed and is later than to, or the
// zero value if there is none: see host.ClockMoveParticipant.
func (m *openedReminderTenant) Expired(ctx context.Context, clocks []*host.NonDecreasingClock,
	to time.Time) (died host.StoredEventTime, err error) {
	if !m.isAffected(clocks) {
		return died, nil
	}
	err = m.in.Engine().View(ctx, func(r engine.Reader) error {
		for _, b := range m.books {
			err := host.EachDue(r, b.key('x'), m.in.Clock().Millis(), func(e host.DeadlineIndexEntry) (bool,
				error) {
				if at := time.UnixMilli(e.At); at.After(to) && at.After(died.At) {
					died = host.StoredEventTime{At: at, What: "a reminder has come due"}
				}
				return true, ctx.Err()
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return died, err
}

// Moved is called after a clock was moved. It makes the reaper read all collections of reminders from their
// beginning. It implements host.ClockMoveParticipant.
func (m *openedReminderTenant) Moved([]*host.NonDecreasingClock) {
	for _, b := range m.books {
		b.rescan.Store(true)
	}
}
