package inspect

import (
	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// ForecastResolution is one resolution of a forecast: the length and the number of its steps.
type ForecastResolution struct {
	Name  string
	Step  int64 // seconds
	Steps int
}

// ForecastScales are the scales of a forecast, from fine to coarse. A month is 30 days.
var ForecastScales = [...]ForecastResolution{
	{"second", 1, 60}, {"minute", 60, 60}, {"hour", 3600, 48}, {"day", 86400, 31}, {"month", 30 * 86400, 24},
}

// Forecast reports when items will expire if nothing changes. All times are in seconds from Now, so that
// containers with different clocks can be added up.
type Forecast struct {
	// Now is the moment of the forecast, in seconds since 1970 by the container's clock; in a forecast of
	// all containers, by the store's clock.
	Now int64
	// Exact reports whether every item was read. If not, leases are not taken into account, except those of
	// the first 10,000 items per partition range that are due.
	Exact    bool
	Complete bool // false: the time did not suffice, and all counts are lower bounds

	Overdue int64 // items that have expired and are not purged
	Lag     int64 // how many seconds ago the oldest of them expired; 0 if there is none
	Coming  int64 // items that will expire
	Next    int64 // seconds until the first of them expires; 0 if there is none
	// Ahead has, for each of ForecastScales, the number of items that will expire in each of its steps. The
	// first step ends Step seconds from now, the second twice as late. Items that expire after the last
	// step are counted in Coming only.
	Ahead [len(ForecastScales)][]int64
}

// NewForecast returns an empty Forecast, to which the forecasts of several containers can be added.
func NewForecast() Forecast {
	f := Forecast{Exact: true, Complete: true}
	for i, s := range ForecastScales {
		f.Ahead[i] = make([]int64, s.Steps)
	}
	return f
}

// Add adds the forecast of one container, from its state and a matching snapshot. Now becomes the moment of
// that state. more is called before each step and reports whether there is time for it. The caller sets
// Complete.
func (f *Forecast) Add(state *view.ContainerAtTime, r engine.Reader, more func() bool) error {
	f.Now = state.Now
	if !state.Policy.Active() {
		return nil
	}
	n := itemExpiryScan{state: state, r: r, more: more, limit: ExactItems}
	n.each = func(l ttl.Lifetime, _ func() ([]byte, error)) error {
		f.count(state.Policy, l)
		return nil
	}
	exact, err := n.run()
	f.Exact = f.Exact && exact
	return err
}

func (f *Forecast) count(p *ttl.Policy, l ttl.Lifetime) {
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
