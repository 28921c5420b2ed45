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

// lineEvery is how long a piece of work goes on between two lines in a log.
const lineEvery = 10 * time.Second

// Bar shows on a terminal how far a piece of work is. Elsewhere it writes a line now and then, of work that
// takes long.
type Bar struct {
	to    io.Writer
	bar   *progressbar.ProgressBar // on a terminal
	clock ttl.Clock                // of lines; nil: there are none

	mu          sync.Mutex
	what        string // "": nothing goes on
	done, steps int
	told        time.Time // when the last line was written
}

// New is a bar on w, if that is a terminal, and else lines to it by a clock.
func New(w io.Writer, clock ttl.Clock) *Bar {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &Bar{to: f}
		}
	}
	return &Bar{to: w, clock: clock}
}

// Start shows a bar of the given number of steps, -1 for nobody knows, in place of the one before.
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

// Step may be called by many at once. Errors of drawing are of no interest.
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

// Stop takes the bar away.
func (p *Bar) Stop() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = ""
}
