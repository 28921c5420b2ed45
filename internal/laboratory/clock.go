package laboratory

import (
	"context"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// Clock is the state of the server's clock.
type Clock struct {
	Now     string  `json:"now" format:"date-time"`
	Frozen  bool    `json:"frozen" description:"Whether the clock stands still."`
	Rate    float64 `json:"rate" description:"Speed of the clock, relative to real time."`
	Virtual bool    `json:"virtual" description:"Whether requests can move the clock."`
}

// DatabaseClock is the state of a database's clock, which may differ from the server's.
type DatabaseClock struct {
	Clock
	Own bool `json:"own" description:"Whether the clock is the database's own, not the server's."`
}

func (l *Laboratory) clockOf(now time.Time, state ttl.VirtualClockState) Clock {
	return Clock{Now: now.UTC().Format(time.RFC3339Nano), Frozen: state.Rate == 0, Rate: state.Rate,
		Virtual: l.db.VirtualClock()}
}

func (l *Laboratory) getClock(context.Context, *route.NoBody) (Clock, error) {
	return l.clockOf(l.db.Now(), l.db.Clock()), nil
}

// ClockChange is a change of a clock. Its members are applied in the order of their declaration.
type ClockChange struct {
	Real    trueOnlyBool         `json:"real,omitempty"`
	Set     *route.JSONTimestamp `json:"set,omitempty" description:"New time: RFC 3339, or seconds since 1970."`
	Advance *route.JSONDuration  `json:"advance,omitempty" description:"Time to add: a duration, or seconds."`
	Rate    *float64             `json:"rate,omitempty" minimum:"0" maximum:"1000000" description:"Speed of the clock, relative to real time."`

	Freeze *bool `json:"freeze,omitempty" description:"true stops the clock, false lets it run again."`

	_ struct{} `takes:"the clock takes 'real', 'set', 'advance', 'rate' or 'freeze'"`
	_ struct{} `empty:"The body must say what to change: 'real', 'set', 'advance', 'rate' or 'freeze'."`
	_ struct{} `additionalProperties:"false" minProperties:"1"`
}

// change converts the requested change of a clock to the type of package store.
func (c *ClockChange) change() store.ClockChangeRequest {
	out := store.ClockChangeRequest{Real: bool(c.Real), Rate: c.Rate, Freeze: c.Freeze}
	if c.Set != nil {
		out.Set = &c.Set.Time
	}
	if c.Advance != nil {
		out.Advance = &c.Advance.Duration
	}
	return out
}

// ClockMoveResponseTiming is the part of a request to move a clock that says when the response is sent.
type ClockMoveResponseTiming struct {
	Settle bool `query:"settle" description:"Respond only after expired items are purged."`
}

// Find implements route.RequestPartDecoder: it decodes the parameter settle of the query string, which says
// whether the response is sent only after expired items have been purged.
func (s *ClockMoveResponseTiming) Find(_ *Laboratory, ec echo.Context) (err error) {
	for name, values := range ec.QueryParams() {
		if name != "settle" || len(values) != 1 {
			return route.BadRequest("The query string '" + ec.QueryString() +
				"' is not valid: the clock accepts 'settle=true'.")
		}
		if s.Settle, err = strconv.ParseBool(values[0]); err != nil {
			return route.BadRequest("'settle' must be true or false.")
		}
	}
	return nil
}

// settle waits until expired items have been purged and entities that were idle for too long have been
// deleted, if the request asks for that. It does not wait for items that are not purged because their reaper
// is paused, delayed or starved, nor for webhooks.
func (l *Laboratory) settle(ctx context.Context, s ClockMoveResponseTiming) error {
	if !s.Settle {
		return nil
	}
	if _, err := l.db.SweepNow(ctx); err != nil || l.opt.Queues == nil {
		return err
	}
	return ofQueues(l.opt.Queues.DeleteIdle(ctx))
}

type setClockRequest struct {
	ClockChange
	ClockMoveResponseTiming
}

func (l *Laboratory) setClock(ctx context.Context, in *setClockRequest) (Clock, error) {
	if _, err := l.db.SetClock(ctx, in.change()); err != nil {
		return Clock{}, err
	}
	if err := l.settle(ctx, in.ClockMoveResponseTiming); err != nil {
		return Clock{}, err
	}
	return l.getClock(ctx, nil)
}

func (l *Laboratory) getDatabaseClock(_ context.Context, in *DatabasePath) (DatabaseClock, error) {
	state, own := in.database.Clock()
	return DatabaseClock{l.clockOf(in.database.Now(), state), own}, nil
}

type setDatabaseClockRequest struct {
	ClockChange
	DatabasePath
	ClockMoveResponseTiming
}

// setDatabaseClock changes the clock of a database. The first call gives the database a clock of its own.
func (l *Laboratory) setDatabaseClock(
	ctx context.Context, in *setDatabaseClockRequest) (DatabaseClock, error) {
	if _, err := in.database.SetClock(ctx, in.change()); err != nil {
		return DatabaseClock{}, err
	}
	if err := l.settle(ctx, in.ClockMoveResponseTiming); err != nil {
		return DatabaseClock{}, err
	}
	return l.getDatabaseClock(ctx, &in.DatabasePath)
}

type followServerClockRequest struct {
	DatabasePath
	ClockMoveResponseTiming
}

func (l *Laboratory) followClock(ctx context.Context, in *followServerClockRequest) (DatabaseClock, error) {
	if err := in.database.FollowClock(ctx); err != nil {
		return DatabaseClock{}, err
	}
	if err := l.settle(ctx, in.ClockMoveResponseTiming); err != nil {
		return DatabaseClock{}, err
	}
	return l.getDatabaseClock(ctx, &in.DatabasePath)
}
