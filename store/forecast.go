package store

import (
	"context"

	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// ForecastScale is a step and how many of them a forecast looks ahead by it.
type ForecastScale struct {
	Name  string
	Step  int64 // seconds
	Steps int
}

// ForecastScales are the scales of a forecast, from fine to coarse. A month is 30 days.
var ForecastScales = [...]ForecastScale{{"second", 1, 60}, {"minute", 60, 60}, {"hour", 3600, 48}, {"day", 86400, 31}, {"month", 30 * 86400, 24}}

// Forecast tells when items will expire if nothing changes. All times are in seconds from Now, so that
// containers whose clocks differ can be taken together.
type Forecast struct {
	Now      int64 // the moment from which it looks ahead, since 1970: of the container's clock, or the store's
	Exact    bool  // every item was looked at; else leases were not, nor what had expired beyond 10,000 a partition range
	Complete bool  // false: a second was not enough, and all counts are lower bounds

	Overdue int64 // items that have expired and are not purged
	Lag     int64 // for how long the oldest of them has been; 0 where there is none
	Coming  int64 // items that will expire
	Next    int64 // in how many seconds the first of them will; 0 where there is none
	// Ahead has, for each of ForecastScales, the items that will expire in each of its steps: the first is up
	// to Step seconds from now, the second up to twice as much. What comes behind the last step is in Coming
	// alone.
	Ahead [len(ForecastScales)][]int64
}

func newForecast(now int64) Forecast {
	f := Forecast{Now: now, Exact: true, Complete: true}
	for i, s := range ForecastScales {
		f.Ahead[i] = make([]int64, s.Steps)
	}
	return f
}

// Forecast looks ahead in one container. It takes about a second at most: see Forecast.Complete.
func (c *Container) Forecast(ctx context.Context) (Forecast, error) {
	f := newForecast(0)
	err := f.add(ctx, c, c.db.startWatch(ctx))
	return f, err
}

// Forecast looks ahead in all containers, each by its own clock. It takes about a second at most.
func (db *DB) Forecast(ctx context.Context) (Forecast, error) { return db.live().forecast(ctx) }

func (db *resident) forecast(ctx context.Context) (Forecast, error) {
	db.mu.RLock()
	containers := db.cat.containers
	db.mu.RUnlock()
	f := newForecast(0)
	watch := db.startWatch(ctx)
	for _, c := range containers {
		if err := f.add(ctx, c, watch); err != nil && fault.ErrorCode(err) != fault.CodeOwnerNotFound { // dropped meanwhile
			return f, err
		}
	}
	f.Now = db.now().Unix()
	return f, nil
}

// add looks ahead in one container more.
func (f *Forecast) add(ctx context.Context, c *Container, watch *stopwatch) error {
	c.db.in.Enter()
	defer c.db.in.Leave()
	p := c.state.Load().policy()
	if !p.Active() {
		f.Now = c.moment()
		return nil
	}
	n := census{c: c, watch: watch, limit: exactItems}
	n.each = func(l ttl.Life, _ func() (Key, error)) error {
		f.count(p, l)
		return nil
	}
	err := n.run(ctx, func(st *containerState, now int64) error {
		f.Now, p = now, st.policy()
		return nil
	})
	f.Exact = f.Exact && n.exact
	f.Complete = f.Complete && !watch.late
	return err
}

func (f *Forecast) count(p *ttl.Policy, l ttl.Life) {
	at, mortal := p.ExpiresAt(l)
	if !mortal {
		return
	}
	in := at - f.Now
	if in <= 0 {
		f.Overdue++
		f.Lag = max(f.Lag, -in)
		return
	}
	if f.Coming++; f.Next == 0 || in < f.Next {
		f.Next = in
	}
	for i, s := range ForecastScales {
		if step := (in - 1) / s.Step; step < int64(s.Steps) {
			f.Ahead[i][step]++
		}
	}
}
