package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/mayflydb/mayfly/ttl"
)

// lineEvery is the time between two log lines.
const lineEvery = 10 * time.Second

// Bar shows the progress of a task on a terminal. Elsewhere it writes a line now and then if the task takes
// long.
type Bar struct {
	to    io.Writer
	bar   *progressbar.ProgressBar // on a terminal
	clock ttl.Clock                // of lines; nil: there are none

	mu          sync.Mutex
	what        string // "": nothing goes on
	done, steps int
	told        time.Time // when the last line was written
}

// New returns a bar on w if w is a terminal. Otherwise the progress is written to w as lines.
func New(w io.Writer, clock ttl.Clock) *Bar {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &Bar{to: f}
		}
	}
	return &Bar{to: w, clock: clock}
}

// Start replaces the bar by a new one with the given number of steps; -1 means an unknown number.
func (p *Bar) Start(what string, steps int) {
	p.Stop()
	switch {
	case p.to == nil:
	case p.clock != nil:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.what, p.done, p.steps, p.told = what, 0, steps, p.clock.Now()
	default:
		p.bar = progressbar.NewOptions(steps, progressbar.OptionSetWriter(p.to),
			progressbar.OptionSetDescription(what),
			progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetSpinnerChangeInterval(0)) // which would be a goroutine without an end
	}
}

// Step counts one step. It is safe for concurrent use. Errors of drawing are ignored.
func (p *Bar) Step(n int) {
	if p.bar != nil {
		_ = p.bar.Add(n)
	}
	if p.clock == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	now := p.clock.Now()
	if p.what == "" || now.Sub(p.told) < lineEvery {
		return
	}
	p.told = now
	if p.steps > 0 {
		fmt.Fprintf(p.to, "%s: %d of %d (%d %%)\n", p.what, p.done, p.steps,
			int(100*float64(p.done)/float64(p.steps)))
	} else {
		fmt.Fprintf(p.to, "%s: %d\n", p.what, p.done)
	}
}

// Stop removes the bar.
func (p *Bar) Stop() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = ""
}
