package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/ttl"
)

const (
	// lineEvery is the minimal time between two progress lines if the output is not a terminal.
	lineEvery = 10 * time.Second
	// drawEvery is the minimal time between two updates on a terminal.
	drawEvery = 100 * time.Millisecond
	// minElapsed is how long a task must have run before its rate is shown.
	minElapsed = 3 * time.Second
	// maxColumns is the maximal length of a line on a terminal. A longer line would wrap, and could not be
	// redrawn.
	maxColumns = 79
)

// Task is a piece of work whose progress is shown.
type Task struct {
	Name  string
	Total int64  // steps; 0 or less: unknown
	Done  int64  // steps that an earlier run has already done
	Bytes bool   // a step is a byte
	Unit  string // plural of what Count counts or, if Bytes is not set, of the steps; empty: no rate is shown
}

// Bar shows the progress of one task at a time: on a terminal as a line that is redrawn, elsewhere as a line
// every 10 seconds. Its methods are safe for concurrent use. The zero Bar shows nothing.
type Bar struct {
	to       io.Writer
	clock    ttl.Clock // nil: nothing is shown
	terminal bool

	mu        sync.Mutex
	task      Task // an empty name means that no task is running
	done      int64
	counted   int64
	begun     time.Time
	printedAt time.Time // of the latest line
	columns   int       // length of the line on the terminal
}

// New returns a Bar that writes to w.
func New(w io.Writer, clock ttl.Clock) *Bar {
	b := &Bar{to: w, clock: clock}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		b.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return b
}

// Start shows a task with the given number of steps. A negative number means that the number is unknown.
func (p *Bar) Start(name string, steps int) { p.StartTask(Task{Name: name, Total: int64(steps)}) }

// StartTask shows a task in place of the previous one.
func (p *Bar) StartTask(t Task) {
	if p.clock == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	now := p.clock.Now()
	p.task, p.done, p.counted, p.begun, p.printedAt = t, t.Done, 0, now, now
}

// Step records that n more steps of the running task are done.
func (p *Bar) Step(n int) { p.Add(n, 0) }

// Add records that more steps of the running task are done, and that count more objects have been counted.
func (p *Bar) Add(steps, count int) {
	if p.clock == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += int64(steps)
	p.counted += int64(count)
	now := p.clock.Now()
	every := lineEvery
	if p.terminal {
		every = drawEvery
	}
	if p.task.Name == "" || now.Sub(p.printedAt) < every {
		return
	}
	p.printedAt = now
	p.draw(p.line(now.Sub(p.begun)))
}

// draw writes a line. On a terminal it replaces the previous line. Errors are ignored, since the work does
// not depend on its display.
func (p *Bar) draw(line string) {
	if !p.terminal {
		fmt.Fprintln(p.to, line)
		return
	}
	if runes := []rune(line); len(runes) > maxColumns {
		line = string(runes[:maxColumns])
	}
	columns := utf8.RuneCountInString(line)
	fmt.Fprint(p.to, "\r"+line+strings.Repeat(" ", max(0, p.columns-columns)))
	p.columns = columns
}

// erase removes the line from the terminal.
func (p *Bar) erase() {
	if p.columns > 0 {
		fmt.Fprint(p.to, "\r"+strings.Repeat(" ", p.columns)+"\r")
		p.columns = 0
	}
}

// line returns the text that shows the progress of the running task. elapsed is the time since the task
// began.
func (p *Bar) line(elapsed time.Duration) string {
	t := &p.task
	text := t.Name + ": " + p.amount(p.done)
	if t.Total > 0 {
		done := min(p.done, t.Total) // the total may be an estimate that is too low
		text = fmt.Sprintf("%s: %s of %s", t.Name, p.amount(done), p.amount(t.Total))
		if !t.Bytes && t.Unit != "" {
			text += " " + t.Unit
		}
		text += fmt.Sprintf(" (%d %%)", int(100*float64(done)/float64(t.Total)))
	} else if !t.Bytes && t.Unit != "" {
		text += " " + t.Unit
	}
	counted := p.done - t.Done
	if t.Bytes && t.Unit != "" {
		counted = p.counted
		text += fmt.Sprintf(", %d %s", counted, t.Unit)
	}
	if elapsed < minElapsed {
		return text
	}
	if t.Unit != "" {
		text += fmt.Sprintf(", %.0f/s", float64(counted)/elapsed.Seconds())
	}
	if now := p.done - t.Done; now > 0 && p.done < t.Total {
		left := time.Duration(float64(elapsed) * float64(t.Total-p.done) / float64(now))
		text += ", " + ttl.FormatDuration(left.Round(time.Second)) + " left"
	}
	return text
}

// amount formats a number of steps.
func (p *Bar) amount(steps int64) string {
	if p.task.Bytes {
		return Size(steps)
	}
	return fmt.Sprint(steps)
}

// Size formats a number of bytes. Units are multiples of 1000, as file managers and disk vendors use them.
func Size(bytes int64) string {
	n, unit := float64(bytes), 0
	units := [...]string{"B", "KB", "MB", "GB", "TB"}
	for n >= 999.5 && unit < len(units)-1 {
		n /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", n, units[unit])
}

// Stop ends the running task and removes its line from the terminal.
func (p *Bar) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.task = Task{}
}

// Speed describes the duration and the rate of finished work: " (1m 2s, 3200 documents/s)". It returns "" if
// the work took less than 3 seconds, since the rate then depends mostly on its start.
func Speed(n int, unit string, took time.Duration) string {
	if took < minElapsed {
		return ""
	}
	return fmt.Sprintf(" (%s, %.0f %s/s)", ttl.FormatDuration(took.Round(time.Second)), float64(n)/took.Seconds(), unit)
}
