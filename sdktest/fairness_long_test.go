//go:build long

package sdktest

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Parameters of TestAttackBesideReaders. Readers read one item all the time, each on its own connection.
// Intervals without any other load alternate with intervals during an attack, and with intervals during an
// honest load that uses as much processor time as the attack: the control. Each interval with a load is
// compared with the two quiet intervals around it, so that other programs on the machine disturb both.
const (
	fairReaders  = 16
	fairPause    = 5 * time.Millisecond // between two reads of a reader
	fairInterval = 1200 * time.Millisecond
	fairQuiet    = 700 * time.Millisecond
	fairRamp     = 300 * time.Millisecond // from the start of a load to the interval that is measured
	fairSettle   = 6 * time.Second        // the longest wait until the server has finished what a load has left
	fairIdle     = 0.15                   // processors; a server that uses fewer beside the readers has settled

	// maxFairRatio is the highest accepted ratio of the median latency during an attack to that without a
	// load. A higher ratio is accepted if that of the control, an honest load, is nearly as high: the
	// processors are then busy. The ratio of the 99th percentiles is only reported, since it depends
	// mostly on other programs.
	maxFairRatio   = 3
	controlMargin  = 1.5
	fairShortReads = 10 * time.Millisecond // a 99th percentile below is accepted
)

// TestAttackBesideReaders measures, for each attack, how much longer the reads of innocent clients take
// during the attack, and fails if they take too long.
func TestAttackBesideReaders(t *testing.T) {
	rounds := 6
	if text := os.Getenv("MAYFLY_FAIR_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		must(t, err)
		rounds = n
	}
	for _, l := range fairLoads() {
		t.Run(l.name, func(t *testing.T) { measureFairness(t, l, rounds) })
	}
}

// fairnessResult holds the measurements of all intervals with one load.
type fairnessResult struct {
	ratios, medians []float64       // of the 99th percentiles and of the medians
	p99             []time.Duration // beside the load
	processors      []float64       // used by the server and the load's process
}

func measureFairness(t *testing.T, l serverLoadScenario, rounds int) {
	f := newFairnessTest(t, l)
	honest := fairHonest()
	control := f.process(honest.name)
	// One interval without a limit gives the cost of an honest request.
	f.quiet()
	var most fairnessResult
	n := f.beside(control, 0, &most)
	cost := most.processors[0] * fairInterval.Seconds() / max(float64(n), 1)
	var attack, same fairnessResult
	load := f.process(l.name)
	for range rounds {
		f.beside(load, 0, &attack)
		rate := int(attack.processors[len(attack.processors)-1] / cost)
		f.beside(control, rate, &same)
	}
	ratio, controlled := median(attack.medians), median(same.medians)
	slices.Sort(attack.p99)
	p99 := attack.p99[len(attack.p99)/2]
	t.Logf("%-28s p99 %6.1f ms, %5.1f times as long as in quiet, median %4.1f times, %.2f processors | "+
		"control %5.1f times, median %4.1f times, %.2f processors | %.1f", l.name, p99.Seconds()*1000,
		median(attack.ratios), ratio, median(attack.processors), median(same.ratios), controlled,
		median(same.processors), attack.ratios)
	if ratio > maxFairRatio && ratio > controlMargin*controlled && p99 > fairShortReads {
		t.Errorf("reads take %.1f times as long as in quiet, and beside an honest load %.1f times", ratio, controlled)
	}
}

func median(list []float64) float64 {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// readLatencyUnderLoadTest is a server with clients that read all the time, and the latencies of their reads.
type readLatencyUnderLoadTest struct {
	t     *testing.T
	b     serviceBusServer
	reads *latencyRecorder
	last  time.Duration // the 99th percentile of the last quiet interval
	half  time.Duration // its median
}

func newFairnessTest(t *testing.T, l serverLoadScenario) *readLatencyUnderLoadTest {
	b := startBus(t, "--memory")
	a := &attackedServer{t: t, s: b.Server}
	a.prepare()
	f := &readLatencyUnderLoadTest{t: t, b: b, reads: &latencyRecorder{of: map[string][]time.Duration{}}}
	if l.prepare != nil {
		l.prepare(t, a, b)
	}
	stop := make(chan struct{})
	var work sync.WaitGroup
	t.Cleanup(func() { close(stop); work.Wait() })
	for range fairReaders {
		c := a.dial()
		work.Go(func() {
			defer c.Close()
			if err := readAllTheTime(c, f.reads, stop); err != nil {
				t.Errorf("a reader: %v", err)
			}
		})
	}
	return f
}

// readAllTheTime reads an item over one connection again and again until stop is closed, and records the
// latencies in k.
func readAllTheTime(c net.Conn, k *latencyRecorder, stop <-chan struct{}) error {
	date := time.Now().UTC().Format(http.TimeFormat)
	const link = "dbs/d/colls/quiet/docs/1"
	secret, err := base64.StdEncoding.DecodeString(EmulatorKey)
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "get\ndocs\n%s\n%s\n\n", link, strings.ToLower(date))
	request := fmt.Sprintf("GET /%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nx-ms-date: %s\r\n"+
		"x-ms-version: 2020-07-15\r\nx-ms-documentdb-partitionkey: [\"a\"]\r\n\r\n", link,
		url.QueryEscape("type=master&ver=1.0&sig="+base64.StdEncoding.EncodeToString(mac.Sum(nil))), date)
	answer := bufio.NewReader(c)
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(fairPause):
		}
		began := time.Now()
		_ = c.SetDeadline(began.Add(neighbourTime))
		if _, err := io.WriteString(c, request); err != nil {
			return err
		}
		res, err := http.ReadResponse(answer, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return errors.Join(err, fmt.Errorf("status %d", res.StatusCode))
		}
		k.note(reads, time.Since(began))
	}
}

// interval waits for the duration d and returns the 99th percentile and the median of the latencies of the
// reads in that time.
func (f *readLatencyUnderLoadTest) interval(d time.Duration) (p99, half time.Duration) {
	f.reads.next()
	time.Sleep(d)
	all := f.reads.next()[reads]
	if len(all) == 0 {
		return neighbourTime, neighbourTime
	}
	return all[len(all)*99/100], all[len(all)/2]
}

// quiet waits until the server has finished the work that the last load has left, and then measures an
// interval without a load.
func (f *readLatencyUnderLoadTest) quiet() {
	const step = 200 * time.Millisecond
	const readers = 0.16 // processors that the readers use: each reads 200 times in a second for 50 µs
	for range int(fairSettle / step) {
		before := processTime(f.t, f.b.Server.cmd.Process.Pid)
		time.Sleep(step)
		if used := processTime(f.t, f.b.Server.cmd.Process.Pid) - before; used.Seconds()/step.Seconds() < readers+fairIdle {
			break
		}
	}
	f.last, f.half = f.interval(fairQuiet)
}

// beside measures the latency of reads in an interval with the load p, relative to the intervals without a
// load before and after it, and appends the results to r. rate limits the load's requests per second; 0: no
// limit. It returns the number of requests that the load has made in the interval.
func (f *readLatencyUnderLoadTest) beside(p *loadGeneratorProcess, rate int,
	r *fairnessResult) (requests int) {
	quiet, half := f.last, f.half
	p.say(fmt.Sprint("on ", rate))
	time.Sleep(fairRamp)
	used := processTime(f.t, p.cmd.Process.Pid) + processTime(f.t, f.b.Server.cmd.Process.Pid)
	n := p.say("count")
	from := time.Now()
	p99, middle := f.interval(fairInterval)
	took := time.Since(from)
	requests = p.say("count") - n
	used = processTime(f.t, p.cmd.Process.Pid) + processTime(f.t, f.b.Server.cmd.Process.Pid) - used
	p.say("off")
	f.quiet()
	r.p99 = append(r.p99, p99)
	r.ratios = append(r.ratios, 2*p99.Seconds()/(quiet+f.last).Seconds())
	r.medians = append(r.medians, 2*middle.Seconds()/(half+f.half).Seconds())
	r.processors = append(r.processors, used.Seconds()/took.Seconds())
	return requests
}

// processTime returns the processor time that a process has used so far.
func processTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var ticks int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		must(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// loadGeneratorProcess is a second process of the test program, which generates a load. It is separate so
// that the load's goroutines do not delay those of the readers.
type loadGeneratorProcess struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.Writer
	says *bufio.Reader
}

// process starts the process that generates the load with this name.
func (f *readLatencyUnderLoadTest) process(name string) *loadGeneratorProcess {
	f.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoadProcess$", "-test.v", "-test.timeout=1h")
	cmd.Env = append(os.Environ(), "MAYFLY_BIN="+binary, "MAYFLY_LOAD="+name,
		fmt.Sprintf("MAYFLY_LOAD_PORTS=%d %d %d", f.b.Port, f.b.amqp, f.b.plainAdmin))
	in, err := cmd.StdinPipe()
	must(f.t, err)
	out, err := cmd.StdoutPipe()
	must(f.t, err)
	cmd.Stderr = os.Stderr
	must(f.t, cmd.Start())
	f.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &loadGeneratorProcess{f.t, cmd, in, bufio.NewReader(out)}
}

// say sends a command to the process of the load and waits until it has been carried out. It returns the
// number of requests that the load has made so far.
func (p *loadGeneratorProcess) say(command string) int {
	p.t.Helper()
	_, err := fmt.Fprintln(p.in, command)
	must(p.t, err)
	for {
		line, err := p.says.ReadString('\n')
		must(p.t, err)
		if text, ok := strings.CutPrefix(line, "load: "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			must(p.t, err)
			return n
		}
	}
}
