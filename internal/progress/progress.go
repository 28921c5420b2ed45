package progress

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
)

// Bar shows on a terminal how far a piece of work is. Elsewhere it shows nothing.
type Bar struct {
	to  io.Writer // nil: no terminal
	bar *progressbar.ProgressBar
}

// New is a bar on w, if that is a terminal.
func New(w io.Writer) *Bar {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &Bar{to: f}
		}
	}
	return &Bar{}
}

// Start shows a bar of the given number of steps in place of the one before.
func (p *Bar) Start(what string, steps int) {
	p.Stop()
	if p.to == nil {
		return
	}
	p.bar = progressbar.NewOptions(steps, progressbar.OptionSetWriter(p.to),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
}

// Step may be called by many at once. Errors of drawing are of no interest.
func (p *Bar) Step(n int) {
	if p.bar != nil {
		_ = p.bar.Add(n)
	}
}

// Stop takes the bar away.
func (p *Bar) Stop() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
