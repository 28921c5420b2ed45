package queue

import (
	"context"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/internal/layout"
)

// clockObserver implements host.ClockObserver: all messages are dated by the server's clock.
type clockObserver struct{ m *dataset }

// Clocks implements host.ClockObserver: the queues have no clock of their own.
func (d clockObserver) Clocks() []*host.Clock { return nil }

func (d clockObserver) isAffected(clocks []*host.Clock) bool {
	return slices.Contains(clocks, d.m.in.Clock())
}

// Hold implements host.ClockObserver.
func (d clockObserver) Hold(ctx context.Context, clocks []*host.Clock) (release func(), err error) {
	if !d.isAffected(clocks) {
		return func() {}, nil
	}
	return d.m.gate.Open, d.m.gate.Shut(ctx)
}

// Latest implements host.ClockObserver.
func (d clockObserver) Latest(clocks []*host.Clock) (last host.Moment) {
	if !d.isAffected(clocks) {
		return last
	}
	if at := d.m.latest.Load(); at > 0 {
		last = host.Moment{At: moment(at), What: "an entity was made or changed"}
	}
	for _, s := range d.m.allStores() {
		if at := s.latest.Load(); at > 0 && moment(at).After(last.At) {
			last = host.Moment{At: moment(at), What: "a message was stored or settled in " + s.name()}
		}
	}
	return last
}

// Expired implements host.ClockObserver.
func (d clockObserver) Expired(ctx context.Context, clocks []*host.Clock,
	to time.Time) (died host.Moment, err error) {
	if !d.isAffected(clocks) {
		return died, nil
	}
	for _, s := range d.m.allStores() {
		if s.sub != entity.Main || s.e.kind == entity.Topic {
			continue
		}
		at, err := s.lastExpiry(ctx)
		if err != nil {
			return host.Moment{}, wrap(err)
		}
		if moment(at).After(to) && moment(at).After(died.At) {
			died = host.Moment{At: moment(at), What: "a message expired in " + s.name()}
		}
	}
	return died, nil
}

// lastExpiry returns the latest time at which a message expired that has not been purged yet, or 0 if there
// is none. The index families are ordered by time, so it reads the last entry that is due.
func (s *messageStore) lastExpiry(ctx context.Context) (at int64, err error) {
	now, def := s.now(), millis(s.e.properties.Load().DefaultTTL)
	err = s.e.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
		if at, err = lastBefore(r, s.keys.Family(layout.FamilyDeadline), now); err != nil ||
			def == host.Never {
			return err
		}
		inherited, err := lastBefore(r, s.keys.Family(layout.FamilyEnqueued), now-def)
		if inherited > 0 {
			at = max(at, inherited+def)
		}
		return err
	})
	return at, err
}

// lastBefore returns the time of the last entry at or before upto, or 0 if there is none.
func lastBefore(r engine.Reader, prefix []byte, upto int64) (at int64, err error) {
	if upto < 0 {
		return 0, nil
	}
	rg := engine.Prefix(prefix)
	rg.End = host.AppendEntry(slices.Clone(prefix), host.Entry{At: upto + 1})
	it := engine.Expect(r.Scan(rg, true), 1)
	if it.Next() {
		var e host.Entry
		e, err = host.ParseEntry(len(prefix), it.Key())
		at = e.At
	}
	if cerr := it.Close(); err == nil {
		err = cerr
	}
	return at, err
}

// Moved implements host.ClockObserver.
func (d clockObserver) Moved(clocks []*host.Clock) {
	if !d.isAffected(clocks) {
		return
	}
	for _, s := range d.m.allStores() {
		s.expiry.restart()
	}
	d.m.timers.wakeUp()
	d.m.idler.wakeUp()
}

// allStores returns the message stores of all entities.
func (m *dataset) allStores() (list []*messageStore) {
	for _, e := range m.list() {
		for _, s := range e.stores {
			if s != nil {
				list = append(list, s)
			}
		}
	}
	return list
}
