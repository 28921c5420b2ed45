//go:build long

package endurance

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/sdktest"
)

var (
	duration = flag.Duration("duration", time.Hour, "how long TestEndurance works")
	kill     = flag.Duration("kill", time.Minute, "how long the server lives before it is killed")
)

const (
	writers = 6
	senders = 2
)

// enduranceTest is one run of TestEndurance: a server that is killed repeatedly, the clients that use it,
// and the models of its documents and messages.
type enduranceTest struct {
	t       *testing.T
	s       *sdktest.Server
	dir     string
	c, q    *client
	writers []*documentWriter
	queue   *queueModel
	storm   *massExpiryClient
	feed    *changeFeedReader
	splits  int
}

// processMetrics holds the measurements of one server process, taken just before it is killed.
type processMetrics struct {
	start                     time.Duration // until it was ready
	goroutines, files, memory int
	disk                      int64
	ghosts                    int
}

// TestEndurance runs a server, kills and restarts it at intervals, and compares every response with a
// model. It fails if the memory, disk space or other resources used by a process at its end grow from
// process to process.
func TestEndurance(t *testing.T) {
	r := newEnduranceTest(t)
	began := time.Now()
	var lives []processMetrics
	for n := 0; time.Since(began) < *duration; n++ {
		from := time.Now()
		must(t, r.s.Start(t.Context()))
		start := time.Since(from)
		r.faults(n)
		l := r.work(min(*kill, *duration-time.Since(began)))
		l.start = start
		lives = append(lives, l)
		t.Logf("life %d: ready in %v, %d goroutines, %d files, %d MB, disk %d MB, %d expired not purged, %v", n,
			start.Round(time.Millisecond), l.goroutines, l.files, l.memory>>10, l.disk>>20, l.ghosts, r.counts())
		r.report()
	}
	r.end()
	r.judge(lives)
}

func newEnduranceTest(t *testing.T) *enduranceTest {
	r := &enduranceTest{t: t, dir: filepath.Join(t.TempDir(), "data"), queue: newQueueModel()}
	r.s, r.c, r.q = startServer(t, r.dir, *duration+24*time.Hour, "--ranges", "2")
	for _, id := range []string{"c", "storm"} {
		r.c.want(t, 201, "POST", "dbs/d/colls", `{"id":"`+id+`","partitionKey":{"paths":["/pk"],"version":2},"defaultTtl":-1}`)
	}
	r.storm = &massExpiryClient{c: r.c, cycle: 1}
	r.feed = &changeFeedReader{c: r.c, etags: map[string]string{}, latest: map[string]int{}}
	r.q.want(t, 201, "PUT", "q?api-version=2021-05", `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">`+
		`<QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><LockDuration>PT5S</LockDuration>`+
		`<MaxDeliveryCount>1000</MaxDeliveryCount></QueueDescription></content></entry>`, "Content-Type", "application/atom+xml")
	must(t, r.s.Kill())
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range writers {
		r.writers = append(r.writers, &documentWriter{name: fmt.Sprint("w", i), c: r.c, rng: rand.New(rand.NewPCG(seed, uint64(i))),
			counts: map[string]int{}})
	}
	return r
}

// faults adds fault rules to the server. Each of them affects one request in a hundred: errors before or
// after the operation, delays, and dropped connections. n varies the seed of the rules.
func (r *enduranceTest) faults(n int) {
	for i, fault := range []string{`"fault":"503"`, `"fault":"408","when":"after"`, `"fault":"latency","latencyMs":50`,
		`"fault":"drop","when":"after"`} {
		r.c.want(r.t, 201, "POST", "_mayfly/faults", fmt.Sprintf(`{%s,"share":0.01,"seed":%d}`, fault, 10*n+i))
	}
}

// work lets the clients use the server for the time d, measures the process and kills it while the clients
// are running.
func (r *enduranceTest) work(d time.Duration) (l processMetrics) {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	var all sync.WaitGroup
	repeat := func(step func(context.Context) error) {
		all.Go(func() {
			for ctx.Err() == nil {
				if step(ctx) != nil {
					pause(ctx, 10*time.Millisecond) // the server is gone, or a fault has closed the connection
				}
			}
		})
	}
	for _, w := range r.writers {
		repeat(w.step)
	}
	for range senders {
		repeat(func(ctx context.Context) error { return r.queue.send(ctx, r.q) })
		repeat(func(ctx context.Context) error {
			_, err := r.queue.receive(ctx, r.q)
			return err
		})
	}
	repeat(r.storm.step)
	repeat(r.feed.step)
	time.Sleep(d / 2)
	r.split()
	time.Sleep(d / 2)
	l = r.measure()
	must(r.t, r.s.Kill())
	cancel()
	all.Wait()
	r.c.http.CloseIdleConnections()
	r.q.http.CloseIdleConnections()
	return l
}

// maxRanges is the number of partition key ranges of the container c from which on none is split.
const maxRanges = 16

// split splits the widest partition key range of the container c in the middle.
func (r *enduranceTest) split() {
	var got struct {
		PartitionKeyRanges []struct {
			ID  string `json:"id"`
			Min string `json:"minInclusive"`
			Max string `json:"maxExclusive"`
		}
	}
	a, err := r.c.do(r.t.Context(), "GET", "dbs/d/colls/c/pkranges", "")
	if err != nil || failed(a.status) {
		return // by an injected fault; the next life tries again
	}
	must(r.t, json.Unmarshal(a.body, &got))
	if len(got.PartitionKeyRanges) >= maxRanges {
		return
	}
	// bound returns the first eight bytes of a boundary, of which the highest one is "FF".
	bound := func(text string) uint64 {
		n, err := strconv.ParseUint((text + strings.Repeat("0", 16))[:16], 16, 64)
		must(r.t, err)
		return min(n, 0x4000000000000000)
	}
	var widest, middle uint64
	var id string
	for _, p := range got.PartitionKeyRanges {
		low, high := bound(p.Min), bound(p.Max)
		if high-low > widest {
			widest, middle, id = high-low, low+(high-low)/2, p.ID
		}
	}
	r.c.want(r.t, 200, "POST", "_mayfly/dbs/d/colls/c/split", fmt.Sprintf(`{"range":%q,"at":"%016X0000000000000000"}`, id, middle))
	r.splits++
}

// measure returns the resources that the server process uses, as reported by the server and the operating
// system.
func (r *enduranceTest) measure() (l processMetrics) {
	a := r.c.want(r.t, 200, "GET", "_mayfly/metrics", "")
	for line := range strings.Lines(string(a.body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case name == "mayfly_goroutines":
			l.goroutines = int(v)
		case strings.HasPrefix(name, "mayfly_expiry_backlog_items"):
			l.ghosts += int(v)
		}
	}
	l.memory = memory(r.s.PID())
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.s.PID()))
	l.files = len(files)
	l.disk = folder(r.dir)
	return l
}

// memory returns the resident memory of a process in KB, or 0 if the operating system does not report it.
func memory(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.Atoi(kb)
	return n
}

// folder returns the total size of the files in a folder in bytes.
func folder(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil {
			if info, err := e.Info(); err == nil && !e.IsDir() {
				bytes += info.Size()
			}
		}
		return nil // a file that was removed meanwhile does not count
	})
	return bytes
}

func (r *enduranceTest) counts() map[string]int {
	sum := map[string]int{"sent": r.queue.next, "completed": r.queue.completed, "storms": r.storm.cycle - 1,
		"feed": r.feed.read, "splits": r.splits}
	for _, w := range r.writers {
		for what, n := range w.counts {
			sum[what] += n
		}
	}
	return sum
}

// report fails the test for each deviation from the model that the writers and the clients of the queue
// have recorded.
func (r *enduranceTest) report() {
	for _, w := range r.writers {
		w.wrong.report(r.t)
	}
	for _, wrong := range []*deviations{&r.queue.wrong, &r.storm.wrong, &r.feed.wrong} {
		wrong.report(r.t)
	}
}

// end starts the server once more without faults, compares all documents and messages with the model,
// stops it, and runs the command check on its data folder.
func (r *enduranceTest) end() {
	t := r.t
	must(t, r.s.Start(t.Context()))
	r.c.want(t, 204, "DELETE", "_mayfly/faults", "")
	for _, w := range r.writers {
		for _, d := range w.docs {
			must(t, w.read(t.Context(), d))
		}
		must(t, w.count(t.Context()))
	}
	must(t, r.feed.drain(t.Context()))
	for _, w := range r.writers {
		r.feed.compare(w)
	}
	for end, quiet := time.Now().Add(5*time.Minute), 0; quiet < 10 && time.Now().Before(end); { // locks end after 5 s
		more, err := r.queue.receive(t.Context(), r.q)
		if must(t, err); more {
			quiet = 0
		} else {
			quiet++
		}
	}
	if lost := r.queue.lost(); len(lost) > 0 {
		t.Errorf("%d messages are lost: %.300v", len(lost), lost)
	}
	r.report()
	must(t, r.s.Stop())
	if out, err := exec.Command(binary, "check", r.dir).CombinedOutput(); err != nil {
		t.Errorf("mayfly check: %v\n%s", err, out)
	}
}

// judge fails the test if a resource, such as memory or open files, has grown during the run. It ignores the
// first two of the server processes that ran one after the other, because the data still grows then. Of the
// rest it compares the average of the last third with that of the first third.
func (r *enduranceTest) judge(lives []processMetrics) {
	if len(lives) < 5 {
		r.t.Logf("%d lives are too few to judge", len(lives))
		return
	}
	third := (len(lives) - 2) / 3
	first, last := lives[2:2+third], lives[len(lives)-third:]
	for name, of := range map[string]struct {
		value func(processMetrics) float64
		slack float64
	}{
		"goroutines":        {func(l processMetrics) float64 { return float64(l.goroutines) }, 30},
		"files":             {func(l processMetrics) float64 { return float64(l.files) }, 30},
		"memory in KB":      {func(l processMetrics) float64 { return float64(l.memory) }, 48 << 10},
		"disk in bytes":     {func(l processMetrics) float64 { return float64(l.disk) }, 64 << 20},
		"expired items":     {func(l processMetrics) float64 { return float64(l.ghosts) }, 500},
		"seconds of starts": {func(l processMetrics) float64 { return l.start.Seconds() }, 2},
	} {
		mean := func(list []processMetrics) (sum float64) {
			for _, l := range list {
				sum += of.value(l) / float64(len(list))
			}
			return sum
		}
		a, b := mean(first), mean(last)
		r.t.Logf("%s: %.0f at first, %.0f at last", name, a, b)
		if b > 1.3*a+of.slack {
			r.t.Errorf("%s grow from %.0f to %.0f", name, a, b)
		}
	}
}
