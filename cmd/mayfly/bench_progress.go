package main

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal what bench is at. Elsewhere it shows nothing: the report grows as figures come
// in.
type progress struct {
	to  io.Writer // nil: no terminal
	bar *progressbar.ProgressBar
}

func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &progress{to: f}
		}
	}
	return &progress{}
}

// start shows a bar of the given number of steps in place of the one before.
func (p *progress) start(what string, steps int) {
	p.stop()
	if p.to == nil {
		return
	}
	p.bar = progressbar.NewOptions(steps, progressbar.OptionSetWriter(p.to), progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
}

// step may be called by many at once. Errors of drawing are of no interest.
func (p *progress) step(n int) {
	if p.bar != nil {
		_ = p.bar.Add(n)
	}
}

func (p *progress) stop() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
