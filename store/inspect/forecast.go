package inspect

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// ForecastScale is a step and how many of them a forecast looks ahead by it.
type ForecastScale struct {
	Name  string
	Step  int64 // seconds
	Steps int
}

// ForecastScales are the scales of a forecast, from fine to coarse. A month is 30 days.
var ForecastScales = [...]ForecastScale{
	{"second", 1, 60}, {"minute", 60, 60}, {"hour", 3600, 48}, {"day", 86400, 31}, {"month", 30 * 86400, 24},
}

// Forecast reports when items will expire if nothing changes. All times are in seconds from Now, so that
// containers whose clocks differ can be taken together.
type Forecast struct {
	// Now is the moment from which it looks ahead, since 1970: of the container's clock, or the store's.
	Now int64
	// Exact reports whether every item was looked at; else leases were not, nor what had expired beyond
	// 10,000 a partition range.
	Exact    bool
	Complete bool // false: a second was not enough, and all counts are lower bounds

	Overdue int64 // items that have expired and are not purged
	Lag     int64 // for how long the oldest of them has been; 0 where there is none
	Coming  int64 // items that will expire
	Next    int64 // in how many seconds the first of them will; 0 where there is none
	// Ahead has, for each of ForecastScales, the items that will expire in each of its steps: the first is up
	// to Step seconds from now, the second up to twice as much. What comes behind the last step is in Coming
	// alone.
	Ahead [len(ForecastScales)][]int64
}

// NewForecast is that of no container at all.
func NewForecast() Forecast {
	f := Forecast{Exact: true, Complete: true}
	for i, s := range ForecastScales {
		f.Ahead[i] = make([]int64, s.Steps)
	}
	return f
}

// Add looks ahead in one container more, for the store, which has made the snapshot. Now becomes that
// container's. more counts a step and reports whether there is time for it; Complete is the caller's to fill.
func (f *Forecast) Add(state *view.State, r engine.Reader, more func() bool) error {
	f.Now = state.Now
	if !state.Policy.Active() {
		return nil
	}
	n := census{state: state, r: r, more: more, limit: ExactItems}
	n.each = func(l ttl.Life, _ func() ([]byte, error)) error {
		f.count(state.Policy, l)
		return nil
	}
	exact, err := n.run()
	f.Exact = f.Exact && exact
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
