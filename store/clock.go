package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// maxStepBack is how far the system's clock may run behind what is stored before Open refuses.
const maxStepBack = 5 * time.Minute

// storeClock is the data clock in whole seconds, which never runs behind what the store has said or stored.
// After a small step back of the clock below, it stands still until that has caught up. Therefore _ts never
// falls in a slot, and what was seen to be expired stays so.
type storeClock struct {
	base ttl.Clock
	last atomic.Int64
}

func (c *storeClock) now() int64 {
	t := c.base.Now().Unix()
	for {
		last := c.last.Load()
		if t <= last {
			return last
		}
		if c.last.CompareAndSwap(last, t) {
			return t
		}
	}
}

// raise moves the floor; it is used while the store is being opened.
func (c *storeClock) raise(t int64) {
	if t > c.last.Load() {
		c.last.Store(t)
	}
}

// ClockChange moves a virtual clock. Its members apply in their order here; nil members change nothing.
type ClockChange struct {
	Freeze  *bool          // true stops the clock, false lets it run on from where it is
	Set     *time.Time     // to this moment
	Advance *time.Duration // by this much; not negative
}

// Now is the moment of the data clock, not behind anything that is stored.
func (db *DB) Now() time.Time {
	if t := db.opts.Clock.Now(); t.Unix() >= db.clock.now() {
		return t
	}
	return time.Unix(db.clock.now(), 0).UTC()
}

// VirtualClock tells whether SetClock can move the clock.
func (db *DB) VirtualClock() bool {
	_, ok := db.opts.Clock.(*ttl.Virtual)
	return ok
}

// Clock is the state of a virtual clock; for the system's clock, that moment at rate 1.
func (db *DB) Clock() ttl.State {
	if v, ok := db.opts.Clock.(*ttl.Virtual); ok {
		return v.State()
	}
	now := db.opts.Clock.Now()
	return ttl.State{At: now, Mark: now, Rate: 1}
}

// SetClock moves the virtual clock and makes its new state durable. It fails with CodeForbidden where the
// clock is the system's, and with CodeBadRequest where the clock would be set behind the latest moment that
// the store has recorded: a _ts, a change of policy, a purge.
func (db *DB) SetClock(ctx context.Context, c ClockChange) (ttl.State, error) {
	v, ok := db.opts.Clock.(*ttl.Virtual)
	if !ok {
		return ttl.State{}, fail(CodeForbidden, "The clock of this server is the system's: it cannot be moved.")
	}
	db.ddl.Lock()
	defer db.ddl.Unlock()
	if c.Advance != nil && *c.Advance < 0 {
		return ttl.State{}, fail(CodeBadRequest, "The clock cannot be advanced by a negative duration; set it instead.")
	}
	before := v.State()
	target := v.Now()
	if c.Set != nil {
		target = *c.Set
	}
	if c.Advance != nil {
		target = target.Add(*c.Advance)
	}
	if target.Year() > 9999 {
		return ttl.State{}, fail(CodeBadRequest, "The clock cannot be set beyond the year 9999.")
	}
	if floor := db.clock.now(); c.Set != nil && target.Unix() < floor {
		return ttl.State{}, fail(CodeBadRequest, fmt.Sprintf("The clock cannot be set to %s: the store has been used up to %s.",
			target.UTC().Format(time.RFC3339), time.Unix(floor, 0).UTC().Format(time.RFC3339)))
	}
	if c.Freeze != nil && *c.Freeze {
		v.Freeze()
	}
	if c.Set != nil || c.Advance != nil {
		v.Set(target)
	}
	if c.Freeze != nil && !*c.Freeze {
		v.Resume()
	}
	if err := db.saveClock(ctx, v.State()); err != nil {
		v.Restore(before)
		return ttl.State{}, err
	}
	db.wakeReaper()
	return v.State(), nil
}

func clockKey() []byte { return catalogKey(kindMeta, 0, "clock") }

func (db *DB) saveClock(ctx context.Context, s ttl.State) error {
	return db.changeCatalog(ctx, func(t engine.Txn) error { return setRecord(t, clockKey(), s) })
}

// restoreClock puts a virtual clock back to where it was when the store was last open.
func (db *DB) restoreClock(r engine.Reader) error {
	v, ok := db.opts.Clock.(*ttl.Virtual)
	if !ok {
		return nil
	}
	raw, err := r.Get(clockKey())
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var s ttl.State
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("%w: the clock's record: %v", engine.ErrCorrupt, err)
	}
	v.Restore(s)
	return nil
}

// checkStepBack refuses to open a store whose time lies well ahead of the clock: it would stand still for
// that long, and nothing would expire.
func (db *DB) checkStepBack() error {
	floor, now := db.clock.last.Load(), db.opts.Clock.Now()
	if ahead := time.Unix(floor, 0).Sub(now); ahead > maxStepBack {
		return &Error{
			Code: CodeUnavailable,
			Message: fmt.Sprintf("The data was written up to %s, but the clock says %s.",
				time.Unix(floor, 0).UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)),
			Hint: "set the system's clock right, or open the folder with a virtual clock (--virtual-clock)",
		}
	}
	return nil
}
