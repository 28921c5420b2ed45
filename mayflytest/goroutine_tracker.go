package mayflytest

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// goroutineTracker finds the goroutines that a server has started and not ended, even if the servers of other
// tests run in parallel. The goroutines of the server have a label, which the goroutines that they start
// inherit.
type goroutineTracker struct{ id string }

const trackerLabel = "mayflytest"

// begin sets the tracker's id to its address, which is unique while it exists.
func (t *goroutineTracker) begin() { t.id = fmt.Sprintf("%p", t) }

// run calls fn. The goroutines that fn starts are tracked.
func (t *goroutineTracker) run(fn func()) {
	pprof.Do(context.Background(), pprof.Labels(trackerLabel, t.id), func(context.Context) { fn() })
}

// The time that goroutines may need to end.
const (
	trackerTries = 200
	trackerPause = 5 * time.Millisecond
)

// end waits until no tracked goroutine is left. If some do not end, its error lists them.
func (t *goroutineTracker) end() error {
	for try := range trackerTries {
		left := t.left()
		if left == "" {
			return nil
		}
		if try == trackerTries-1 {
			return fmt.Errorf("goroutines are left:\n%s", left)
		}
		if try < 10 {
			runtime.Gosched()
			continue
		}
		pause, _ := ttl.SystemClock{}.After(trackerPause)
		<-pause
	}
	return nil
}

// left returns the stack traces of those tracked goroutines that are still running.
func (t *goroutineTracker) left() string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	label := fmt.Sprintf("%q:%q", trackerLabel, t.id)
	var found []string
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if strings.Contains(stack, "# labels:") && strings.Contains(stack, label) {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n")
}
