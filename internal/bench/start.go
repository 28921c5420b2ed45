package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/store"
)

const (
	startRounds = 5
	// idleTime is the number of seconds for which a server is idle before its memory is measured. If
	// --seconds is less than 1, the time is shorter in proportion.
	idleTime = 2
)

// measureStart measures the time from opening a store in this process, and from starting a server, to the
// first response, the memory of an idle server, and the size of the data set on disk.
func (b *BenchmarkRun) measureStart(ctx context.Context) error {
	d, err := b.data(ctx)
	if err != nil {
		return err
	}
	b.report.begin("start", fmt.Sprintf(
		"a closed, compacted store of %s documents; files in the system's cache; medians of %d", thousands(
			int64(b.docs())), startRounds), "")
	first := newDocument(b.docs() / 2)
	var within, served []float64
	b.progress.Start("starting", 2*startRounds+2)
	for range startRounds {
		took, err := b.timeOpen(ctx, d.dir, first)
		if err != nil {
			return err
		}
		within = append(within, took.Seconds())
		b.progress.Step(1)
	}
	if _, _, err := b.timeServe(ctx, d.dir, first, 0); err != nil { // the first start creates the certificate
		return err
	}
	for range startRounds {
		took, _, err := b.timeServe(ctx, d.dir, first, 0)
		if err != nil {
			return err
		}
		served = append(served, took.Seconds())
		b.progress.Step(1)
	}
	_, resident, err := b.timeServe(ctx, d.dir, first,
		time.Duration(idleTime*min(b.Seconds, 1)*float64(time.Second)))
	if err != nil {
		return err
	}
	b.progress.Stop()
	b.report.add(Measurement{Name: "Open to the first read, in this process", Value: median(within), Unit: seconds,
		Budget: valueAtMost(0.05), Samples: within})
	b.report.add(Measurement{Name: "exec of serve to its first answer", Value: median(served), Unit: seconds,
		Budget: valueAtMost(0.05), Samples: served})
	if resident > 0 {
		b.report.add(Measurement{Name: "resident memory of serve, idle for 2 s", Value: float64(resident),
			Unit: byteCount, Budget: valueAtMost(45e6)})
	} else {
		b.report.note("resident memory of serve: not measured on this system")
	}
	b.report.add(Measurement{Name: "disk, a document, as written", Value: float64(d.asWritten) / float64(b.docs()),
		Unit: byteCount, Budget: valueAtMost(1300)})
	b.report.add(Measurement{Name: "disk, a document, compacted", Value: float64(d.compacted) / float64(b.docs()),
		Unit: byteCount, Budget: valueAtMost(1300)})
	return nil
}

// timeOpen opens the store like a program that embeds it, and reads a document.
func (b *BenchmarkRun) timeOpen(ctx context.Context, dir string, d document) (took time.Duration, err error) {
	began := b.clock.Now()
	db, c, err := b.open(ctx, storeOpenOptions{engine: pebble.Options{Dir: dir}})
	if err != nil {
		return 0, err
	}
	defer closing(db, &err)
	_, _, err = c.Read(ctx, d.key(), d.id, store.ReadOptions{})
	return b.clock.Now().Sub(began), err
}

// timeServe starts the server as a user does, and reads a document. Then it leaves the server idle and
// measures its memory; the result is 0 if the system does not report the memory.
func (b *BenchmarkRun) timeServe(ctx context.Context, dir string, d document,
	idle time.Duration) (took time.Duration, resident int64, err error) {
	request, err := b.signedRead(d)
	if err != nil {
		return 0, 0, err
	}
	began := b.clock.Now()
	c, err := startChild(ctx, "serve", "--host", loopback, "--port", "0", "--data", dir)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.interrupt()) }()
	address, err := c.greeted()
	if err != nil {
		return 0, 0, err
	}
	if err := askOnce(ctx, address, request); err != nil {
		return 0, 0, err
	}
	took = b.clock.Now().Sub(began)
	after, stop := b.clock.After(idle)
	defer stop()
	select {
	case <-after:
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	return took, memoryOf(c.cmd.Process.Pid, "VmRSS:"), nil
}

// greeted reads the lines that the server prints at its start, up to its HTTP address, which it returns.
func (c *childProcess) greeted() (address string, err error) {
	for {
		text, err := c.line()
		if err != nil {
			return "", err
		}
		if _, rest, ok := strings.Cut(text, "http://"); ok {
			return strings.TrimRight(rest, "/"), nil
		}
	}
}

// askOnce sends one request and waits for the response.
func askOnce(ctx context.Context, address string, request []byte) (err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer closing(conn, &err)
	w := newRawHTTPConn(conn, [][]byte{request}, 0)
	return w.ask()
}

// interrupt stops a server with the signal of Ctrl+C.
func (c *childProcess) interrupt() error {
	if err := c.cmd.Process.Signal(os.Interrupt); err == nil {
		return c.end()
	}
	// Windows cannot interrupt another process. Killing it is safe, since all data are durable.
	err := c.cmd.Process.Kill()
	_ = c.end() // the error says that it was killed
	return err
}

// memoryOf returns the memory of a process on Linux, in bytes, and 0 elsewhere. what is VmRSS for the
// current value or VmHWM for the maximum.
func memoryOf(pid int, what string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte(what))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
