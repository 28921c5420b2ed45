package laboratory

import (
	"context"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store/inspect"
)

// The values of ForecastAnswer.Method: how the items were counted.
const (
	exact     = "exact"
	estimated = "estimated" // leases were ignored
)

func method(isExact bool) string {
	if isExact {
		return exact
	}
	return estimated
}

// ForecastAnswer counts the items that will expire, by time.
type ForecastAnswer struct {
	Now      string `json:"now" format:"date-time"`
	Method   string `json:"method" enum:"exact,estimated" description:"estimated: most leases are ignored."`
	Complete bool   `json:"complete" description:"false: it ran out of time; counts are lower bounds."`
	Overdue  int64  `json:"overdue" description:"Expired items that are not purged yet."`
	Lag      int64  `json:"lagSeconds" description:"Seconds since the oldest of the overdue items expired."`
	Coming   int64  `json:"coming" description:"Items that will expire."`
	NextIn   int64  `json:"nextIn,omitempty" description:"Seconds until the next expiry; absent: none."`
	NextAt   string `json:"nextAt,omitempty" format:"date-time" description:"Time of the next expiry."`
	// By contains the keys second, minute, hour, day and month. Each maps to the steps of that length in
	// which something expires.
	By map[string][]ForecastStep `json:"by" nullable:"false" description:"Counts in steps of a second, minute, hour, day and month."`
}

// ForecastStep is the number of items that expire after From and not after To.
type ForecastStep struct {
	From  int64 `json:"from" description:"Start of the step, in seconds from now."`
	To    int64 `json:"to" description:"End of the step, in seconds from now."`
	Count int64 `json:"count" description:"Number of expiries in the step."`
}

func forecastAnswer(f inspect.Forecast) ForecastAnswer {
	out := ForecastAnswer{Now: second(f.Now), Method: method(f.Exact), Complete: f.Complete,
		Overdue: f.Overdue, Lag: f.Lag, Coming: f.Coming, NextIn: f.Next,
		By: make(map[string][]ForecastStep, len(f.Ahead))}
	if f.Next > 0 {
		out.NextAt = second(f.Now + f.Next)
	}
	for i, scale := range inspect.ForecastScales {
		steps := []ForecastStep{}
		for n, count := range f.Ahead[i] {
			if from := int64(n) * scale.Step; count > 0 {
				steps = append(steps, ForecastStep{from, from + scale.Step, count})
			}
		}
		out.By[scale.Name] = steps
	}
	return out
}

func (l *Laboratory) forecast(ctx context.Context, in *ContainerPath) (ForecastAnswer, error) {
	f, err := in.container.Forecast(ctx)
	if err != nil {
		return ForecastAnswer{}, err
	}
	return forecastAnswer(f), nil
}

// forecastAll returns the forecast for all containers together.
func (l *Laboratory) forecastAll(ctx context.Context, _ *route.NoBody) (ForecastAnswer, error) {
	f, err := l.db.Forecast(ctx)
	if err != nil {
		return ForecastAnswer{}, err
	}
	return forecastAnswer(f), nil
}
