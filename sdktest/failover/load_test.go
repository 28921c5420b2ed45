package failover

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// combinedWorkload is a set of clients that write documents and send and receive messages on some servers,
// until finish is called.
type combinedWorkload struct {
	t       *testing.T
	servers []*mayflyServer
	url     string // of the database
	life    context.Context
	end     context.CancelFunc
	clients sync.WaitGroup

	documents documentWorkload
	messages  messageObservations
	result    testResult
}

// testResult holds the counts of a test, such as lost and repeated operations, which are logged as a
// table.
type testResult struct {
	acknowledged, unknown int // operations
	lost                  int // acknowledged operations that have not happened
	twice                 int // operations that have happened twice
	wrong                 int // everything else that nobody was told or that must not happen
	gap, limit            time.Duration
}

func (r *testResult) log(t *testing.T) {
	t.Helper()
	gap := "-"
	if r.limit > 0 {
		gap = fmt.Sprintf("%v of %v", r.gap.Round(time.Millisecond), r.limit)
	}
	t.Logf("\n| acknowledged | unknown | lost | twice | wrong | longest gap |\n"+
		"| %12d | %7d | %4d | %5d | %5d | %s |", r.acknowledged, r.unknown, r.lost, r.twice, r.wrong, gap)
}

const (
	documentClients = 8
	senders         = 4
	receivers       = 4
)

// newWorkload starts n servers on a database, and clients that use them. url is the address of the
// database for the command mayfly check at the end.
func newWorkload(t *testing.T, n int, database, url string) *combinedWorkload {
	t.Helper()
	l := &combinedWorkload{t: t, servers: startServers(t, n, database), url: url}
	l.life, l.end = context.WithCancel(t.Context())
	t.Cleanup(func() {
		l.end()
		l.clients.Wait()
	})
	l.messages.known = map[string]*modelMessage{}
	for i := range documentClients {
		w := &documentWriter{load: l, server: l.servers[i%n], number: i}
		l.documents.writers = append(l.documents.writers, w)
		l.clients.Go(w.run)
	}
	for i := range senders {
		l.clients.Go(func() { l.send(l.servers[i%n], i) })
	}
	for i := range receivers {
		l.clients.Go(func() { l.receive(l.servers[i%n], i+1) })
	}
	return l
}

// progress waits until the number of acknowledged operations has grown by more, for documents and for
// messages.
func (l *combinedWorkload) progress(more int64) {
	l.t.Helper()
	documents, messages := l.documents.acks.count()+more, l.messages.acks.count()+more
	eventually(l.t, 3*time.Minute, "clients make progress", func() bool {
		l.failOnFaults()
		return l.documents.acks.count() >= documents && l.messages.acks.count() >= messages
	})
}

// gaps returns the longest time between two acknowledged operations on documents, or on messages, since
// its last call.
func (l *combinedWorkload) gaps() time.Duration {
	return max(l.documents.acks.gap(), l.messages.acks.gap())
}

// restart restarts the measurement of the longest time without an acknowledged operation, for documents and
// for messages.
func (l *combinedWorkload) restart() {
	l.documents.acks.restart()
	l.messages.acks.restart()
}

func (l *combinedWorkload) failOnFaults() {
	l.t.Helper()
	for _, f := range append(l.documents.faults.all(), l.messages.faults.all()...) {
		l.t.Error(f)
	}
	if l.t.Failed() {
		l.end()
		l.t.FailNow()
	}
}

// finish stops the clients, compares the data on all servers with the acknowledged operations, stops the
// servers and runs mayfly check.
func (l *combinedWorkload) finish() {
	l.t.Helper()
	l.end()
	l.clients.Wait()
	l.failOnFaults()
	l.checkDocuments()
	l.checkMessages()
	l.result.log(l.t)
	for _, s := range l.servers {
		must(l.t, s.Stop())
	}
	if out, err := exec.Command(binary, "check", "--engine", l.url).CombinedOutput(); err != nil {
		l.t.Errorf("mayfly check: %v: %s", err, out)
	}
}

// rest waits for 20 milliseconds, or until the load ends. A client calls it after an error.
func (l *combinedWorkload) rest() {
	select {
	case <-l.life.Done():
	case <-time.After(20 * time.Millisecond):
	}
}

// ackStatistics counts acknowledged operations and measures the longest time between two of them.
type ackStatistics struct {
	mu      sync.Mutex
	n       int64
	last    time.Time
	longest time.Duration
}

func (a *ackStatistics) add() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if !a.last.IsZero() {
		a.longest = max(a.longest, now.Sub(a.last))
	}
	a.n, a.last = a.n+1, now
}

// restart makes the measurement of the time between acknowledged operations begin now.
func (a *ackStatistics) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last, a.longest = time.Now(), 0
}

func (a *ackStatistics) count() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// gap returns the longest time between two acknowledged operations since its last call.
func (a *ackStatistics) gap() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	longest := a.longest
	a.longest = 0
	return longest
}

// violationList collects descriptions of violations that clients notice, such as an unexpected response.
// It is safe for concurrent use.
type violationList struct {
	mu   sync.Mutex
	list []string
}

func (f *violationList) add(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, text)
}

func (f *violationList) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list
}
