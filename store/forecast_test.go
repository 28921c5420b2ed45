package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/store/inspect"
)

// TestForecast performs random operations and compares a forecast with the expiry times of the single
// items.
func TestForecast(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 9))
			b := newTestStore(t, "", 1+int(seed%3))
			defer b.close()
			age(b, r, false)
			want := inspect.Forecast{Now: b.seconds(), Exact: true, Complete: true}
			for i, s := range inspect.ForecastScales {
				want.Ahead[i] = make([]int64, s.Steps)
			}
			for _, e := range lives(b) {
				switch {
				case e.State == inspect.StateGhost:
					want.Overdue++
					want.Lag = max(want.Lag, e.Now-e.ExpiresAt)
				case e.State == inspect.StateLive && e.Mortal:
					want.Coming++
					in := e.Remaining()
					if want.Next == 0 || in < want.Next {
						want.Next = in
					}
					for i, s := range inspect.ForecastScales {
						if n := (in - 1) / s.Step; n < int64(s.Steps) {
							want.Ahead[i][n]++
						}
					}
				}
			}
			got, err := b.c.Forecast(b.ctx)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			all, err := b.db.Forecast(b.ctx)
			if diff := cmp.Diff(want, all); err != nil || diff != "" {
				t.Errorf("all: %v (-want +got):\n%s", err, diff)
			}
			m, err := b.db.Metrics(b.ctx)
			if err != nil {
				t.Fatal(err)
			}
			if m.Backlog.Items != want.Overdue || m.Backlog.Oldest != want.Lag || len(m.Containers) != 1 ||
				m.Containers[0].Backlog != m.Backlog {
				t.Errorf("metrics %+v, %+v, want %d overdue for %d s", m.Backlog, m.Containers, want.Overdue,
					want.Lag)
			}
		})
	}
}

// TestContainerMetrics checks the number of purged items, the backlog and the time of the next expiry in
// the metrics of a container.
func TestContainerMetrics(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, `"defaultTtl":10`, 2)
	defer b.close()
	b.mortal("a", 0)
	b.mortal("b", 5)
	b.mortal("c", -1)
	check := func(purged uint64, backlog inspect.PurgeBacklog, next int64) {
		t.Helper()
		m, err := b.db.Metrics(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		c := m.Containers[0]
		if next > 0 {
			next += epoch
		}
		if c.Database != "db" || c.Container != "c" || c.Purged != purged || m.Purged != purged ||
			c.Backlog != backlog || c.NextExpiry != next || c.Now != b.seconds() {
			t.Errorf("%+v, %d purged in all, want %d purged, %+v, next %d", c, m.Purged, purged, backlog,
				next)
		}
	}
	check(0, inspect.PurgeBacklog{}, 5)
	b.pass(7)
	check(0, inspect.PurgeBacklog{Items: 1, Oldest: 2}, 10)
	b.leaseFor("a", 10)
	b.pass(5)
	check(0, inspect.PurgeBacklog{Items: 1, Oldest: 7}, 0) // a is held by its lease
	b.purgeDue()
	check(1, inspect.PurgeBacklog{}, 0)
	b.pass(5)
	check(1, inspect.PurgeBacklog{Items: 1, Oldest: 0}, 0)
	b.purgeDue()
	check(2, inspect.PurgeBacklog{}, 0)
}
