package queue

import (
	"context"
	"slices"
	"time"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
)

// clockMoveParticipant implements host.ClockMoveParticipant, through which the host moves the clock: it gives
// the host access to the times stored with messages and entities. All of them come from the server's clock.
type clockMoveParticipant struct{ m *loadedEntities }

// Clocks implements host.ClockMoveParticipant. All times of messages come from the server's clock, so it
// returns no further clocks.
func (d clockMoveParticipant) Clocks() []*host.NonDecreasingClock { return nil }

func (d clockMoveParticipant) isAffected(clocks []*host.NonDecreasingClock) bool {
	return slices.Contains(clocks, d.m.in.Clock())
}

// Hold implements host.ClockMoveParticipant: it blocks the operations on messages until release is called, if
// the server's clock is in clocks.
func (d clockMoveParticipant) Hold(ctx context.Context, clocks []*host.NonDecreasingClock) (release func(),
	err error) {
	if !d.isAffected(clocks) {
		return func() {}, nil
	}
	return d.m.gate.Open, d.m.gate.Shut(ctx)
}

// Latest implements host.ClockMoveParticipant: it returns the latest time stored with an entity or a message,
// which the server's clock must not be set back before. It returns the zero value if that clock is not in
// clocks.
func (d clockMoveParticipant) Latest(clocks []*host.NonDecreasingClock) (last host.StoredEventTime) {
	if !d.isAffected(clocks) {
		return last
	}
	if at := d.m.latest.Load(); at > 0 {
		last = host.StoredEventTime{At: moment(at), What: "an entity was made or changed"}
	}
	for _, s := range d.m.allStores() {
		if at := s.latest.Load(); at > 0 && moment(at).After(last.At) {
			last = host.StoredEventTime{At: moment(at),
				What: "a message was stored or settled in " + s.Name()}
		}
	}
	return last
}

// Expired implements host.ClockMoveParticipant: it returns the expiry time of a message that expired after
// the time to and has not been purged yet. The clock must not be set back before the expiry time, or the
// message would become live again.
func (d clockMoveParticipant) Expired(ctx context.Context, clocks []*host.NonDecreasingClock,
	to time.Time) (died host.StoredEventTime, err error) {
	if !d.isAffected(clocks) {
		return died, nil
	}
	for _, s := range d.m.allStores() {
		if s.Sub != entity.Main || s.e.kind == entity.Topic {
			continue
		}
		var at int64
		now, def := s.now(), millis(s.e.properties.Load().DefaultTTL)
		err := d.m.in.Engine().View(ctx, func(r engine.Reader) (err error) {
			at, err = s.LastExpiry(r, now, def)
			return err
		})
		if err != nil {
			return host.StoredEventTime{}, wrap(err)
		}
		if moment(at).After(to) && moment(at).After(died.At) {
			died = host.StoredEventTime{At: moment(at), What: "a message expired in " + s.Name()}
		}
	}
	return died, nil
}

// Moved implements host.ClockMoveParticipant: if the server's clock has been moved, the reaper and the timers
// look again for messages and entities that are due.
func (d clockMoveParticipant) Moved(clocks []*host.NonDecreasingClock) {
	if !d.isAffected(clocks) {
		return
	}
	for _, s := range d.m.allStores() {
		s.expiry.restart()
	}
	d.m.timers.WakeUp()
	d.m.idler.WakeUp()
}

// allStores returns the message stores of all entities.
func (m *loadedEntities) allStores() (list []*inMemoryMessageStoreState) {
	for _, e := range m.list() {
		for _, s := range e.stores {
			if s != nil {
				list = append(list, s)
			}
		}
	}
	return list
}
