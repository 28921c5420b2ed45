package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/httpapi"
)

// httpConns is the number of connections that send requests to a server: so many that the server never
// waits for a request.
const httpConns = 16

// measureHTTP compares the CPU time of a server for a point read over HTTP with that of a handler that only
// sends the same bytes. Both run in separate processes and count their own time, so that the client's time
// is not included.
func (b *BenchmarkRun) measureHTTP(ctx context.Context) (err error) {
	n := min(hotDocs, b.docs())
	dir, answer := b.path("http"), b.path("answer.json")
	defer drop(dir, answer)
	requests, err := b.makeHTTPData(ctx, n, dir)
	if err != nil {
		return err
	}

	ours, err := startBenchServer(ctx, "mayfly", dir)
	if err != nil {
		return err
	}
	defer closing(ours, &err)
	if err := ours.connect(requests); err != nil {
		return err
	}
	if err := ours.saveAnswer(requests[0], answer); err != nil {
		return err
	}
	theirs, err := startBenchServer(ctx, "empty", answer)
	if err != nil {
		return err
	}
	defer closing(theirs, &err)
	if err := theirs.connect(requests); err != nil {
		return err
	}

	b.report.begin("http", fmt.Sprintf(
		"point reads over HTTP, signed, %d keep-alive connections, %s keys, cached; against an echo handler with the same answer", httpConns, thousands(int64(n))), "empty echo")
	var rates [2][]float64
	d, err := b.compare(ctx, "reading over HTTP", ours.loaded(ctx, b, &rates[0]),
		theirs.loaded(ctx, b, &rates[1]))
	if err != nil {
		return err
	}
	if ours.counts {
		cpu := d.speed("server CPU (user + system) a request", ratioAtMost(1.5))
		cpu.Samples = d.ratios(quotient)
		*cpu.Ratio = median(cpu.Samples)
		b.report.add(cpu)
	} else {
		b.report.note("server CPU a request: not measured on this system")
	}
	against, pairs := median(rates[1]), baselineComparisonTimes{mayfly: rates[0], baseline: rates[1]}
	ratio := median(rates[0]) / against
	b.report.add(Measurement{Name: "requests, client on the same machine", Value: median(rates[0]),
		Unit: perSecond, Against: &against, Ratio: &ratio, Samples: pairs.ratios(quotient)})
	return nil
}

// makeHTTPData creates a store of n documents and returns a request for each of them.
func (b *BenchmarkRun) makeHTTPData(ctx context.Context, n int, dir string) (requests [][]byte, err error) {
	db, c, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir}})
	if err != nil {
		return nil, err
	}
	b.progress.Start("filling the store to read from", n)
	if err := errors.Join(b.load(ctx, c, 0, n), db.Close()); err != nil {
		return nil, err
	}
	requests = make([][]byte, n)
	for i := range requests {
		if requests[i], err = b.signedRead(newDocument(i)); err != nil {
			return nil, err
		}
	}
	return requests, nil
}

// signedRead returns the bytes of a signed request for a document, with the headers that SDKs send. The
// signature is valid for a quarter of an hour.
func (b *BenchmarkRun) signedRead(d document) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(httpapi.EmulatorKey)
	if err != nil {
		return nil, err
	}
	link := "dbs/" + benchDatabase + "/colls/" + benchContainer + "/docs/" + d.id
	date := b.clock.Now().UTC().Format(http.TimeFormat)
	var r bytes.Buffer
	fmt.Fprintf(&r, "GET /%s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nx-ms-version: 2020-07-15\r\nx-ms-date: %s\r\n", link, date)
	fmt.Fprintf(&r, "authorization: %s\r\n",
		httpapi.AuthorizationHeader(httpapi.Sign(key, http.MethodGet, "docs", link, date)))
	r.WriteString("User-Agent: azsdk-go-azcosmos/v1.4.0\r\ncache-control: no-cache\r\n" +
		"x-ms-activity-id: 7d9a4a9e-2d3b-4b7f-9a52-0f6f8a8f0c11\r\nx-ms-session-token: 0:-1#1\r\n")
	fmt.Fprintf(&r, "x-ms-documentdb-partitionkey: [\"%s\"]\r\n\r\n", d.pk)
	return r.Bytes(), nil
}

// cannedResponse is a response of Mayfly that was stored in a file. The HTTP server with which Mayfly is
// compared, an empty handler, sends it as the response to every request.
type cannedResponse struct {
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// saveAnswer sends a request to the server and writes the response to a file.
func (s *benchServer) saveAnswer(request []byte, file string) error {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(request); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	a := cannedResponse{Header: res.Header}
	if a.Body, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("a point read was answered with %s: %s", res.Status, a.Body)
	}
	a.Header.Del("Date") // every server adds its own
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// connect opens the connections for the load.
func (s *benchServer) connect(requests [][]byte) error {
	for i := range httpConns {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			return err
		}
		s.conns = append(s.conns, newRawHTTPConn(conn, requests, i))
	}
	return nil
}

// loaded returns a comparisonWorkSliceFunc of requests over all connections. It measures the server's own CPU
// time if the system reports it, otherwise elapsed time; it appends the number of requests per second to
// rates.
func (s *benchServer) loaded(ctx context.Context, b *BenchmarkRun, rates *[]float64) comparisonWorkSliceFunc {
	return func() (ops int, took time.Duration, err error) {
		before, err := s.cpu()
		if err != nil {
			return 0, 0, err
		}
		began := b.clock.Now()
		var done atomic.Int64
		err = workers(ctx, len(s.conns), 0, len(s.conns), func(i int) error {
			n, err := s.conns[i].run(b, began)
			done.Add(int64(n))
			return err
		})
		took = b.clock.Now().Sub(began)
		if err != nil {
			return 0, 0, err
		}
		after, err := s.cpu()
		*rates = append(*rates, float64(done.Load())/took.Seconds())
		if s.counts {
			took = after - before
		}
		return int(done.Load()), took, err
	}
}

// rawHTTPConn is one connection with a minimal client, since the client uses the same processors as the
// measured server.
type rawHTTPConn struct {
	conn     net.Conn
	in       *bufio.Reader
	requests [][]byte
	next     int
	read     func() error // reads a response
}

func newRawHTTPConn(conn net.Conn, requests [][]byte, next int) *rawHTTPConn {
	w := &rawHTTPConn{conn: conn, in: bufio.NewReaderSize(conn, 8<<10), requests: requests, next: next}
	w.read = w.answer
	return w
}

// ask sends the next request and reads the response.
func (w *rawHTTPConn) ask() error {
	w.next = (w.next + 1) % len(w.requests)
	if _, err := w.conn.Write(w.requests[w.next]); err != nil {
		return err
	}
	return w.read()
}

// run reads one document after the other until the current slice of the measurement, which started at began,
// is over. It returns the number of reads.
func (w *rawHTTPConn) run(b *BenchmarkRun, began time.Time) (n int, err error) {
	const between = 16 // requests between two readings of the clock
	for {
		for range between {
			if err := w.ask(); err != nil {
				return n, err
			}
		}
		if n += between; b.clock.Now().Sub(began) >= b.sliceTime() {
			return n, nil
		}
	}
}

// answer reads one response: a status line, headers, and a body of the length in the headers.
func (w *rawHTTPConn) answer() error {
	length := -1
	for first := true; ; first = false {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first {
			if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
				return fmt.Errorf("a point read was answered with %s", line)
			}
			continue
		}
		if len(line) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok &&
			bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("an answer had no length")
	}
	_, err := w.in.Discard(length)
	return err
}
