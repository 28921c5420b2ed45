package simulation

import (
	"fmt"
	"hash/fnv"
	"io"

	"github.com/mayflydb/mayfly/internal/simulation/database"
)

// timed formats a line of the trace: the simulated time in seconds, and a text.
func (w *RunningSimulation) timed(format string, args ...any) string {
	return fmt.Sprintf("%12.6f ", w.now().Sub(w.begin).Seconds()) + fmt.Sprintf(format, args...)
}

// trace adds a line to the trace of the simulation.
func (w *RunningSimulation) trace(format string, args ...any) {
	line := w.timed(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.traceLocked(line)
}

// traceLocked adds a line to the trace, which the result of the simulation contains, and writes it to
// config.Steps, if that is set. The caller holds mu.
func (w *RunningSimulation) traceLocked(line string) {
	w.lines = append(w.lines, line)
	w.writeStepLocked(line)
}

// step writes a line with the current time to the log of the simulation's steps, Config.Steps, if there is
// one.
func (w *RunningSimulation) step(format string, args ...any) {
	if w.config.Steps == nil {
		return
	}
	line := w.timed(format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeStepLocked(line)
}

// writeStepLocked writes a line to the log of the simulation's steps, Config.Steps. The caller holds mu.
func (w *RunningSimulation) writeStepLocked(line string) {
	if w.config.Steps != nil {
		_, _ = io.WriteString(w.config.Steps, line+"\n") // lost lines do not change the simulation
	}
}

// exchanged records a request of a server to the database: the server, the operation, the first key, the
// number and a hash of all keys, the version of the data, and the error.
func (w *RunningSimulation) exchanged(x database.NetworkExchange) {
	if w.config.Steps == nil {
		return
	}
	var first []byte
	h := fnv.New32a()
	for i, key := range x.Keys {
		if i == 0 {
			first = key
		}
		_, _ = h.Write(key)
		_, _ = h.Write([]byte{0})
	}
	w.step("%s: %s %x, %d keys %08x, version %d: %v", x.Server, x.Operation, first, len(x.Keys), h.Sum32(),
		x.Version, x.Err)
}

// commitStep records a commit with the LSNs that it took.
func (w *RunningSimulation) commitStep(c database.CommitRecord) {
	for _, l := range c.LSNs {
		w.step("%s has committed %x from %d to %d", c.Server, l.Scope, l.First, l.Next)
	}
}
