package sdktest

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// What strangers, clients that hang up and damaged disks do to a server. Each attack is answered or refused
// within a bound, while a neighbour goes on: it reads an item of another container and writes to another
// partition key of the attacked range all the time, and is never left without an answer.

const (
	attackTime    = 60 * time.Second // for one answer to an attack: twice the longest limit of the server
	neighbourTime = 10 * time.Second // for one answer to the neighbour
)

// strictKey is a Service Bus key, as an argument of --servicebus-key, that the attackers of the tests do
// not use.
const strictKey = "root:Manage+Send+Listen:nobody-knows-this"

// attackedServer is a server that a test attacks while an innocent client uses it as well.
type attackedServer struct {
	t      *testing.T
	s      *Server
	client http.Client
	beside time.Duration // below which an answer beside the attack is not judged; 0: besideBound
	share  float64       // of the processors that the test had before the attack
}

// attacked starts a server with two containers: "v", which the test attacks, and "quiet", which only
// innocent clients use.
func attacked(t *testing.T, args ...string) *attackedServer {
	t.Helper()
	a := &attackedServer{t: t, s: start(t, append([]string{"--memory", "--virtual-clock"}, args...)...)}
	a.prepare()
	return a
}

// prepare creates the database and the containers of the test. At the end of the test it fails if the
// server has had a panic.
func (a *attackedServer) prepare() {
	a.t.Helper()
	a.client.Transport = &http.Transport{MaxIdleConnsPerHost: 16}
	a.t.Cleanup(a.client.CloseIdleConnections)
	a.t.Cleanup(func() {
		if strings.Contains(a.s.Output(), "panic") {
			a.t.Errorf("the server has had a panic:\n%s", a.s.Output())
		}
	})
	a.want(201, "POST", "dbs", `{"id":"d"}`)
	for _, id := range []string{"v", "quiet"} {
		a.want(201, "POST", "dbs/d/colls", `{"id":"`+id+`","partitionKey":{"paths":["/pk"],"version":2},"defaultTtl":-1}`)
	}
	a.want(201, "POST", "dbs/d/colls/quiet/docs", `{"id":"1","pk":"a"}`)
}

// dial opens a TCP connection to the server's HTTP port.
func (a *attackedServer) dial() net.Conn {
	a.t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", a.s.Port))
	must(a.t, err)
	return c
}

// dialDirect opens a TLS connection to the server, as clients of direct mode do.
func (a *attackedServer) dialDirect() net.Conn {
	a.t.Helper()
	c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", a.s.Port), &tls.Config{InsecureSkipVerify: true})
	must(a.t, err)
	return c
}

// ask sends a request with the master key, and returns the status and the body of the response. headers
// are names and values in turn. It returns an error if the response has not arrived when ctx ends.
func (a *attackedServer) ask(ctx context.Context, method, path, body string,
	headers ...string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, a.s.URL("http")+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+EmulatorKey)
	for i := 0; i < len(headers); i += 2 {
		if strings.EqualFold(headers[i], "Host") {
			req.Host = headers[i+1]
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := a.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// does sends a request with the master key, and returns the status and the body of the response. It fails
// the test if the response does not arrive in time.
func (a *attackedServer) does(method, path, body string, headers ...string) (int, string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), attackTime)
	defer cancel()
	status, answer, err := a.ask(ctx, method, path, body, headers...)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	return status, string(answer)
}

func (a *attackedServer) want(status int, method, path, body string, headers ...string) string {
	a.t.Helper()
	got, answer := a.does(method, path, body, headers...)
	if got != status {
		a.t.Fatalf("%s %s: %d, want %d\n%.300s", method, path, got, status, answer)
	}
	return answer
}

// refused sends a request, and fails the test unless the status is 4xx or 503.
func (a *attackedServer) refused(method, path, body string, headers ...string) {
	a.t.Helper()
	if got, answer := a.does(method, path, body, headers...); got < 400 || got >= 500 && got != http.StatusServiceUnavailable {
		a.t.Errorf("%s %s: %d\n%.300s", method, path, got, answer)
	}
}

func key(pk string) []string { return []string{"x-ms-documentdb-partitionkey", `["` + pk + `"]`} }

// hangsUp sends a request, and closes the connection after the given time if there is no response yet.
func (a *attackedServer) hangsUp(after time.Duration, method, path, body string, headers ...string) {
	ctx, cancel := context.WithTimeout(a.t.Context(), after)
	defer cancel()
	_, _, _ = a.ask(ctx, method, path, body, headers...)
}

func (a *attackedServer) procedure(id, body string) {
	a.t.Helper()
	text, err := json.Marshal(map[string]string{"id": id, "body": body})
	must(a.t, err)
	a.want(201, "POST", "dbs/d/colls/v/sprocs", string(text))
}

// judge compares the latencies of an innocent client's reads during an attack (reads) with those before it
// (before). It fails the test if the 99th percentile has more than tripled. It does not fail if the
// percentile is below a bound that only waiting exceeds, nor if other programs used the processors before
// the attack, since such figures say little.
func (a *attackedServer) judge(reads, before []time.Duration) {
	beside, quiet := reads[len(reads)*99/100], before[len(before)*99/100]
	a.t.Logf("99 of 100 reads beside it came within %v, %.1f times as long as in quiet (%v)",
		beside, float64(beside)/float64(quiet), quiet)
	if beside <= 3*quiet || beside <= cmp.Or(a.beside, besideBound) {
		return
	}
	if a.share < freeShare {
		a.t.Logf("not judged: other programs left only %.0f of 100 of the processors", 100*a.share)
		return
	}
	a.t.Errorf("99 of 100 reads beside it came within %v, those in quiet within %v", beside, quiet)
}

// freeShare is the share of the processors' time that was free for the test before the attack, from which on
// the test may fail because of slow reads. With less, other programs may have caused the latencies.
const freeShare = 0.85

// processorShare measures which share of the processors this process gets if it keeps all of them busy for
// 200 milliseconds: 1 if no other program runs.
func processorShare() float64 {
	var spun atomic.Int64
	var work sync.WaitGroup
	processors := runtime.GOMAXPROCS(0)
	var before, after syscall.Rusage
	from := time.Now()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for range processors {
		work.Go(func() {
			for time.Since(from) < 200*time.Millisecond {
				spun.Add(1)
			}
		})
	}
	work.Wait()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := time.Duration(after.Utime.Nano() - before.Utime.Nano() + after.Stime.Nano() - before.Stime.Nano())
	return used.Seconds() / (time.Since(from).Seconds() * float64(processors))
}

// The kinds of requests that an innocent client sends during an attack.
const (
	reads  = "read of another container"
	writes = "write to another key"
)

// latencyRecorder records how long requests took, by kind of request.
type latencyRecorder struct {
	sync.Mutex
	of map[string][]time.Duration
}

func (k *latencyRecorder) note(what string, d time.Duration) {
	k.Lock()
	defer k.Unlock()
	k.of[what] = append(k.of[what], d)
}

// kinds returns the number of kinds of requests of which at least one latency has been recorded.
func (k *latencyRecorder) kinds() int {
	k.Lock()
	defer k.Unlock()
	return len(k.of)
}

// next returns the latencies recorded since the last call, sorted, by kind of request.
func (k *latencyRecorder) next() map[string][]time.Duration {
	k.Lock()
	defer k.Unlock()
	of := k.of
	k.of = map[string][]time.Duration{}
	for _, all := range of {
		slices.Sort(all)
	}
	return of
}

// neighbour starts a client that takes no part in the attack and reads and writes every few milliseconds. It
// returns after quietTime. The caller then attacks the server and calls end, which stops the client and fails
// the test if the client's reads were much slower during the attack than before it.
func (a *attackedServer) neighbour() (end func()) {
	a.share = processorShare()
	var stop atomic.Bool
	var work sync.WaitGroup
	took := &latencyRecorder{of: map[string][]time.Duration{}}
	for name, do := range map[string]func(ctx context.Context, n int) (int, []byte, error){
		reads: func(ctx context.Context, _ int) (int, []byte, error) {
			return a.ask(ctx, "GET", "dbs/d/colls/quiet/docs/1", "", key("a")...)
		},
		writes: func(ctx context.Context, n int) (int, []byte, error) {
			return a.ask(ctx, "POST", "dbs/d/colls/v/docs", fmt.Sprintf(`{"id":"n%d","pk":"neighbour","ttl":60}`, n), key("neighbour")...)
		},
	} {
		work.Go(func() {
			for n := 0; !stop.Load(); n++ {
				ctx, cancel := context.WithTimeout(a.t.Context(), neighbourTime)
				began := time.Now()
				status, answer, err := do(ctx, n)
				cancel()
				took.note(name, time.Since(began))
				if err != nil || status >= 300 && status != http.StatusTooManyRequests && status != http.StatusConflict {
					a.t.Errorf("the neighbour's %s: %d %v %.200s", name, status, err, answer)
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	time.Sleep(quietTime)
	for took.kinds() < 2 { // on a busy machine the first answers may take longer
		time.Sleep(5 * time.Millisecond)
	}
	quiet := took.next()
	return func() {
		stop.Store(true)
		work.Wait()
		beside := took.next()
		for name, all := range beside {
			a.t.Logf("%s: %d, median %v, 99 of 100 within %v, the slowest %v",
				name, len(all), all[len(all)/2], all[len(all)*99/100], all[len(all)-1])
		}
		a.judge(beside[reads], quiet[reads])
	}
}
