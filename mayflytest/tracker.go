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

// A tracker finds goroutines that a server has left behind, among those of other servers whose tests run in
// parallel: what run starts carries a label that goroutines hand down to those that they start.
type tracker struct{ id string }

const trackerLabel = "mayflytest"

// begin names the tracker by its address, which no other has meanwhile.
func (t *tracker) begin() { t.id = fmt.Sprintf("%p", t) }

// run calls fn, whose goroutines are tracked.
func (t *tracker) run(fn func()) {
	pprof.Do(context.Background(), pprof.Labels(trackerLabel, t.id), func(context.Context) { fn() })
}

// Goroutines that have been told to end may take a moment to.
const (
	trackerTries = 200
	trackerPause = 5 * time.Millisecond
)

// end waits until no tracked goroutine is left, and says which are where some do not end.
func (t *tracker) end() error {
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
		pause, _ := ttl.Real{}.After(trackerPause)
		<-pause
	}
	return nil
}

// left are the stacks of the tracked goroutines.
func (t *tracker) left() string {
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
