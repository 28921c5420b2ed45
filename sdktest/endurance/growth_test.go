//go:build long

package endurance

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/sdktest"
)

var documents = flag.String("documents", "20000,100000", "sizes of TestGrowth, rising, separated by commas")

const (
	growthBytes = 1024 // of a document
	growthReads = 2000
)

// metricsAtDocumentCount holds the measurements of a server with n documents.
type metricsAtDocumentCount struct {
	n                             int
	imported                      float64 // documents a second
	peak, idle                    int     // memory in KB, during the import and after a start
	disk                          float64 // bytes of a document, after a clean stop
	clean, killed                 time.Duration
	read, equal, ordered, counted []time.Duration
	ttl                           time.Duration // for a change of the default
	purged                        float64       // documents a second
	beside                        []time.Duration
}

// TestGrowth measures servers with data of several sizes. It fails if a figure that should not depend on
// the size does: the time of a start, of reads, of indexed queries and of a change of the default TTL, and
// the memory when idle.
func TestGrowth(t *testing.T) {
	var rows []metricsAtDocumentCount
	for _, text := range strings.Split(*documents, ",") {
		n, err := strconv.Atoi(text)
		must(t, err)
		rows = append(rows, measureSize(t, n))
	}
	t.Log("\n" + table(rows))
	first, last := rows[0], rows[len(rows)-1]
	for name, c := range map[string]struct {
		of    func(metricsAtDocumentCount) time.Duration
		slack time.Duration
	}{
		"point read": {func(r metricsAtDocumentCount) time.Duration { return at(r.read, 50) },
			5 * time.Millisecond},
		"equality": {func(r metricsAtDocumentCount) time.Duration { return at(r.equal, 50) },
			5 * time.Millisecond},
		"order": {func(r metricsAtDocumentCount) time.Duration { return at(r.ordered, 50) },
			5 * time.Millisecond},
		"change of the TTL": {func(r metricsAtDocumentCount) time.Duration { return r.ttl },
			20 * time.Millisecond},
		"start": {func(r metricsAtDocumentCount) time.Duration { return r.clean }, time.Second},
	} {
		if a, b := c.of(first), c.of(last); b > 3*a+c.slack {
			t.Errorf("%s: %v with %d documents, %v with %d", name, a, first.n, b, last.n)
		}
	}
	if last.idle > first.idle+100<<10 {
		t.Errorf("idle memory: %d MB and %d MB", first.idle>>10, last.idle>>10)
	}
}

// at returns a percentile (0 to 99) of the sorted durations in list.
func at(list []time.Duration, percent int) time.Duration { return list[len(list)*percent/100] }

func table(rows []metricsAtDocumentCount) string {
	var b strings.Builder
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
	line := func(name string, of func(metricsAtDocumentCount) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, r := range rows {
			fmt.Fprintf(&b, " %s |", of(r))
		}
		b.WriteByte('\n')
	}
	line("documents", func(r metricsAtDocumentCount) string { return strconv.Itoa(r.n) })
	line("import", func(r metricsAtDocumentCount) string { return fmt.Sprintf("%.0f/s", r.imported) })
	line("memory, at most during the import",
		func(r metricsAtDocumentCount) string { return fmt.Sprintf("%d MB", r.peak>>10) })
	line("memory, idle after a start",
		func(r metricsAtDocumentCount) string { return fmt.Sprintf("%d MB", r.idle>>10) })
	line("disk for a document",
		func(r metricsAtDocumentCount) string { return fmt.Sprintf("%.0f B", r.disk) })
	line("start after a stop; after kill -9", func(r metricsAtDocumentCount) string {
		return ms(r.clean) + "; " +
			ms(r.killed)
	})
	line("point read, p50; p99", func(r metricsAtDocumentCount) string {
		return ms(at(r.read, 50)) + "; " +
			ms(at(r.read, 99))
	})
	line("equality, 20 rows, p50", func(r metricsAtDocumentCount) string { return ms(at(r.equal, 50)) })
	line("ORDER BY, 20 rows, p50", func(r metricsAtDocumentCount) string { return ms(at(r.ordered, 50)) })
	line("COUNT, p50", func(r metricsAtDocumentCount) string { return ms(at(r.counted, 50)) })
	line("change of the default TTL", func(r metricsAtDocumentCount) string { return ms(r.ttl) })
	line("purge of everything",
		func(r metricsAtDocumentCount) string { return fmt.Sprintf("%.0f/s", r.purged) })
	line("point read meanwhile, p99", func(r metricsAtDocumentCount) string { return ms(at(r.beside, 99)) })
	return b.String()
}

func measureSize(t *testing.T, n int) (r metricsAtDocumentCount) {
	r.n = n
	dir := filepath.Join(t.TempDir(), "data")
	s := &sdktest.Server{Bin: binary, Args: []string{"--log-level", "warn", "--data", dir}}
	t.Cleanup(func() {
		if s.Running() {
			must(t, s.Kill())
		}
	})
	starting := func() time.Duration {
		from := time.Now()
		must(t, s.Start(t.Context()))
		return time.Since(from)
	}
	starting()
	c := newClient(s.URL("http"), "Bearer "+sdktest.EmulatorKey)
	c.want(t, 201, "POST", "dbs", `{"id":"d"}`)
	c.want(t, 201, "POST", "dbs/d/colls", `{"id":"c","partitionKey":{"paths":["/pk"],"version":2}}`)
	from := time.Now()
	fill(t, s, n, growthDocument(rand.New(rand.NewPCG(1, 5))))
	r.imported = float64(n) / time.Since(from).Seconds()
	r.peak = peak(s.PID())
	must(t, s.Stop())
	r.disk = float64(folder(dir)) / float64(n)
	r.clean = starting()
	must(t, s.Kill())
	r.killed = starting()
	time.Sleep(2 * time.Second)
	r.idle = memory(s.PID())
	rng := rand.New(rand.NewPCG(1, 4))
	read := func() time.Duration {
		i := rng.IntN(n)
		from := time.Now()
		c.want(t, 200, "GET", fmt.Sprintf("dbs/d/colls/c/docs/%d", i), "", "x-ms-documentdb-partitionkey", fmt.Sprintf(`["u%d"]`, i%1000))
		return time.Since(from)
	}
	for range growthReads {
		r.read = append(r.read, read())
	}
	ask := func(times int, text string) (list []time.Duration) {
		for range times {
			body := fmt.Sprintf(`{"query":%q}`, fmt.Sprintf(text, rng.IntN(n)))
			from := time.Now()
			c.want(t, 200, "POST", "dbs/d/colls/c/docs", body, "x-ms-documentdb-isquery", "true", "Content-Type", "application/query+json",
				"x-ms-documentdb-query-enablecrosspartition", "true", "x-ms-documentdb-partitionkeyrangeid", "0")
			list = append(list, time.Since(from))
		}
		slices.Sort(list)
		return list
	}
	r.equal = ask(100, "SELECT TOP 20 * FROM c WHERE c.team = %d %% 1000")
	r.ordered = ask(100, "SELECT TOP 20 * FROM c WHERE c.number >= %d ORDER BY c.number")
	r.counted = ask(5, "SELECT VALUE COUNT(1) FROM c WHERE c.number >= %d")
	slices.Sort(r.read)
	from = time.Now()
	c.want(t, 200, "PUT", "dbs/d/colls/c", `{"id":"c","partitionKey":{"paths":["/pk"],"version":2},"defaultTtl":100000}`)
	r.ttl = time.Since(from)
	r.purge(t, c)
	must(t, s.Stop())
	if out, err := exec.Command(binary, "check", dir).CombinedOutput(); err != nil {
		t.Errorf("mayfly check: %v\n%s", err, out)
	}
	return r
}

// purge lets all documents expire and waits until they are purged.
func (r *metricsAtDocumentCount) purge(t *testing.T, c *client) {
	c.want(t, 201, "POST", "dbs/d/colls", `{"id":"beside","partitionKey":{"paths":["/pk"],"version":2}}`)
	c.want(t, 201, "POST", "dbs/d/colls/beside/docs", `{"id":"1","pk":"a"}`, "x-ms-documentdb-partitionkey", `["a"]`)
	from := time.Now()
	c.want(t, 200, "PUT", "dbs/d/colls/c", `{"id":"c","partitionKey":{"paths":["/pk"],"version":2},"defaultTtl":1}`)
	for left, asked := r.n, time.Now(); left > 0; time.Sleep(5 * time.Millisecond) {
		begun := time.Now()
		c.want(t, 200, "GET", "dbs/d/colls/beside/docs/1", "", "x-ms-documentdb-partitionkey", `["a"]`)
		r.beside = append(r.beside, time.Since(begun))
		if time.Since(asked) > 500*time.Millisecond {
			left, asked = r.n-purgedItems(t, c), time.Now()
		}
		if time.Since(from) > time.Hour {
			t.Fatalf("%d documents are not purged after an hour", left)
		}
	}
	r.purged = float64(r.n) / time.Since(from).Seconds()
	slices.Sort(r.beside)
}

// purgedItems returns how many expired items the server has purged since its start.
func purgedItems(t *testing.T, c *client) int {
	sum := 0.0
	for line := range strings.Lines(string(c.want(t, 200, "GET", "_mayfly/metrics", "").body)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, "mayfly_purged_items_total") {
			v, err := strconv.ParseFloat(value, 64)
			must(t, err)
			sum += v
		}
	}
	return int(sum)
}

// growthDocument returns a function that returns document i of TestGrowth, which has growthBytes bytes.
func growthDocument(rng *rand.Rand) func(i int) string {
	return func(i int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"id":"%d","pk":"u%d","number":%d,"team":%d,"name":"name %d","active":%t,"tags":["t%d","all"],"note":"`,
			i, i%1000, i, i%1000, rng.IntN(1e6), i%2 == 0, i%50)
		for b.Len() < growthBytes-3 {
			fmt.Fprintf(&b, "%07x ", rng.IntN(1<<28))
		}
		b.WriteString(`"}`)
		return b.String()
	}
}

// fill stores n documents in the container c of the server by the command mayfly import.
func fill(t *testing.T, s *sdktest.Server, n int, document func(i int) string) {
	cmd := exec.Command(binary, "import", "-", "--url", s.URL("http"), "--db", "d", "--container", "c", "--format", "ndjson", "--parallel", "8")
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	must(t, err)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	w := bufio.NewWriterSize(in, 1<<20)
	for i := range n {
		_, _ = w.WriteString(document(i) + "\n") // an error shows in the command's exit code
	}
	_ = w.Flush()
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("import: %v\n%s", err, out.String())
	}
}

// peak returns the maximum resident memory that a process has had, in KB, or 0 if the operating system
// does not report it.
func peak(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.Atoi(kb)
	return n
}
