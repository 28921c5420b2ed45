package queue

import (
	"errors"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/ttl"
)

// TestClockBack checks that the clock cannot be set back before a stored time, nor before the expiry of a
// message, whether that message has been purged or not.
func TestClockBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   func(*entity.Properties)
		ttl   time.Duration
		swept bool
	}{
		"own, purged":         {byDefault(entity.Forever), 10 * time.Second, true},
		"own, not purged":     {byDefault(entity.Forever), 10 * time.Second, false},
		"default, purged":     {byDefault(10 * time.Second), time.Hour, true},
		"default, not purged": {byDefault(10 * time.Second), time.Hour, false},
		"inherited":           {byDefault(10 * time.Second), -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestHost(t, Options{})
			w.queue("q", c.set)
			m := msg("A")
			if c.ttl >= 0 {
				lives(c.ttl)(m)
			}
			w.at(5 * time.Second)
			w.send("q", m)
			w.at(20 * time.Second)
			if c.swept {
				w.sweep()
			}
			for _, at := range []time.Duration{4 * time.Second, 14 * time.Second} {
				to := start.Add(at)
				_, err := w.h.Instance().SetClock(w.ctx, ttl.ClockChangeRequest{Set: &to})
				var far *host.ClockTooFarBackError
				if !errors.As(err, &far) {
					t.Errorf("set to %s: %v", at, err)
				}
			}
			if !c.swept {
				w.at(15 * time.Second)
			}
			w.expect("q", "")
		})
	}
}
