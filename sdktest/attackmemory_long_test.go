//go:build long

package sdktest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/rntbdtest"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// burstBound is the latency up to which an innocent client's reads are accepted during an attack by
// hundreds of large reads that begin at once.
const burstBound = 250 * time.Millisecond

// resourceExhaustionAttack is an attack that makes a server hold memory, connections or file descriptors.
type resourceExhaustionAttack struct {
	name   string
	mostMB int // that the server may take more at its peak
	run    func(t *testing.T, a *attackedServer, bus string) (open []io.Closer)
}

// memoryAttacks returns the attacks with the memory that each may cost: very little for clients without a
// key; for clients with a key as much as the limit for all requests together, and garbage that has not
// been collected yet.
func memoryAttacks() []resourceExhaustionAttack {
	const withoutKey, withKey = 120, 1200
	return []resourceExhaustionAttack{
		{"unfinished messages of AMQP", withoutKey, func(t *testing.T, _ *attackedServer,
			bus string) (open []io.Closer) {
			for range 72 {
				c := dialAMQP(t, bus)
				open = append(open, c)
				for h := range uint32(12) {
					c.attach(h, fmt.Sprint("s", h))
				}
				for n := range uint32(200) {
					if c.say(&frame.Transfer{Handle: n % 12, DeliveryID: frame.Some(n % 12), DeliveryTag: []byte{1},
						MessageFormat: frame.Some(0), More: true}, make([]byte, 20_000)) != nil {
						break // it is closed
					}
				}
			}
			return open
		}},
		{"names of links of AMQP", withoutKey, func(t *testing.T, _ *attackedServer, bus string) []io.Closer {
			c := dialAMQP(t, bus)
			for h := range uint32(3000) {
				if c.attach(h, fmt.Sprint(h, strings.Repeat("y", 30_000))) != nil {
					break
				}
			}
			return []io.Closer{c}
		}},
		{"payloads of direct mode before a key", withoutKey, func(t *testing.T, a *attackedServer,
			_ string) (open []io.Closer) {
			payload := []byte(`{"id":"` + strings.Repeat("x", 2_000_000) + `"}`)
			f := rntbdtest.Frame(3, 1, [16]byte{1}, payload, rntbdtest.Flag(2, 1), rntbdtest.Text(0x15, "d"),
				rntbdtest.Text(0x16, "v"))
			for range 300 {
				c := a.dialDirect()
				open = append(open, c)
				_ = c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
				_, _ = c.Write(f[:len(f)-1]) // it is refused before
			}
			return open
		}},
		{"items of direct mode that nobody takes", withKey, func(t *testing.T, a *attackedServer,
			_ string) (open []io.Closer) {
			f := rntbdtest.Frame(3, 3, [16]byte{1}, nil, rntbdtest.Text(1, "Bearer "+EmulatorKey),
				rntbdtest.Text(0x15, "d"), rntbdtest.Text(0x16, "v"), rntbdtest.Text(0x17, "big"),
				rntbdtest.Text(0x2B, `["x"]`))
			for range 4 {
				c := a.dialDirect()
				open = append(open, c)
				_, err := c.Write(rntbdtest.Context())
				must(t, err)
				_ = c.SetWriteDeadline(time.Now().Add(time.Second))
				for range 300 {
					if _, err := c.Write(f); err != nil {
						break // it is not read any more
					}
				}
			}
			return open
		}},
		{"items over HTTP that nobody takes", withKey, func(t *testing.T, a *attackedServer,
			_ string) (open []io.Closer) {
			for range 800 {
				c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", a.s.Port))
				must(t, err)
				open = append(open, c)
				_ = c.(*net.TCPConn).SetReadBuffer(2048)
				_, err = fmt.Fprintf(c, "GET /dbs/d/colls/v/docs/big HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
					"x-ms-documentdb-partitionkey: [\"x\"]\r\n\r\n", EmulatorKey)
				must(t, err)
			}
			return open
		}},
		{"bodies over HTTP that do not end", withoutKey, func(t *testing.T, a *attackedServer,
			bus string) (open []io.Closer) {
			for n := range 400 {
				address := []string{bus, fmt.Sprintf("127.0.0.1:%d", a.s.Port)}[n%2]
				c, err := net.Dial("tcp", address)
				must(t, err)
				open = append(open, c)
				_ = c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
				_, _ = io.WriteString(c, "POST /dbs/d/colls/v/docs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n"+
					strings.Repeat("x", 1_000_000)) // it is refused before
			}
			return open
		}},
	}
}

// TestAttackMemory checks, for each attack of memoryAttacks, that the server's memory stays within the
// limit of the attack, that the connections are closed afterwards, and that an innocent client is served
// meanwhile.
func TestAttackMemory(t *testing.T) {
	for _, c := range memoryAttacks() {
		t.Run(c.name, func(t *testing.T) {
			port, err := FreePort()
			must(t, err)
			bus := fmt.Sprintf("127.0.0.1:%d", port)
			a := attacked(t, "--servicebus", "--servicebus-key", strictKey, "--servicebus-port", strconv.Itoa(port),
				"--servicebus-admin-port", "off", "--servicebus-tls-port", "off", "--servicebus-admin-tls-port", "off")
			a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"big","pk":"x","p":"`+strings.Repeat("y", 2_000_000)+`"}`,
				key("x")...)
			a.beside = burstBound
			end := a.neighbour()
			before, files := residentKB(t, a.s), a.descriptors()
			var stop atomic.Bool
			peak := make(chan int)
			go func() {
				most := 0
				for ; !stop.Load(); time.Sleep(50 * time.Millisecond) {
					most = max(most, a.resident())
				}
				peak <- most
			}()
			open := c.run(t, a, bus)
			time.Sleep(7 * time.Second) // those who wait for memory give up
			for _, o := range open {
				_ = o.Close()
			}
			time.Sleep(3 * time.Second)
			stop.Store(true)
			most, left := <-peak, a.descriptors()
			end()
			t.Logf("memory from %d to %d MB, descriptors from %d to %d", before>>10, most>>10, files, left)
			if most-before > c.mostMB<<10 {
				t.Errorf("the server has taken %d MB more, %d are the most", (most-before)>>10, c.mostMB)
			}
			if left > files+20 {
				t.Errorf("%d descriptors are open, %d were before", left, files)
			}
		})
	}
}

// resident returns the resident memory of the server's process in KB, or 0 if the system does not report
// it.
func (a *attackedServer) resident() (kb int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kb, _ = strconv.Atoi(number)
	return kb
}

// descriptors returns the number of open file descriptors of the server's process, or 0 if the system does
// not report it.
func (a *attackedServer) descriptors() int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return len(list)
}

// rawAMQPConn is an AMQP connection with one session, of a client that has not authenticated and reads
// nothing.
type rawAMQPConn struct{ net.Conn }

func dialAMQP(t *testing.T, address string) *rawAMQPConn {
	t.Helper()
	raw, err := net.Dial("tcp", address)
	must(t, err)
	c := &rawAMQPConn{raw}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	header := frame.HeaderAMQP()
	_, err = c.Write(header[:])
	must(t, err)
	must(t, c.say(&frame.Open{ContainerID: "x", MaxFrameSize: 1 << 16}, nil))
	must(t, c.say(&frame.Begin{IncomingWindow: 5000, OutgoingWindow: 5000, HandleMax: 9999}, nil))
	go func() { _, _ = io.Copy(io.Discard, c) }()
	return c
}

func (c *rawAMQPConn) say(b frame.Body, payload []byte) error {
	_, err := c.Write(frame.Append(nil, 0, b, payload))
	return err
}

// attach attaches a link to $cbs, the node to which clients send their tokens.
func (c *rawAMQPConn) attach(handle uint32, name string) error {
	return c.say(&frame.Attach{Name: name, Handle: handle, Source: &frame.Source{Address: "me", HasAddress: true},
		Target: &frame.Target{Address: "$cbs", HasAddress: true}, InitialDeliveryCount: frame.Some(0)}, nil)
}

// TestAttackByIdleBusConnections opens many idle connections without a key to the Service Bus port of a
// server with few file descriptors, and checks that the port still answers a request.
func TestAttackByIdleBusConnections(t *testing.T) {
	port, err := FreePort()
	must(t, err)
	script := t.TempDir() + "/few"
	must(t, os.WriteFile(script, []byte("#!/bin/sh\nulimit -n 200\nexec '"+binary+"' \"$@\"\n"), 0o755))
	s := &Server{Bin: script, Args: []string{"--log-level", "warn", "--memory", "--servicebus", "--servicebus-key",
		strictKey, "--servicebus-port", strconv.Itoa(port), "--servicebus-admin-port", "off", "--servicebus-tls-port",
		"off", "--servicebus-admin-tls-port", "off"}}
	must(t, s.Start(t.Context()))
	t.Cleanup(func() { must(t, s.Stop()) })
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for n := range 300 {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			continue
		}
		t.Cleanup(func() { c.Close() })
		switch n % 3 {
		case 0:
			_, _ = io.WriteString(c, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
		case 1:
			header := frame.HeaderAMQP()
			_, _ = c.Write(frame.Append(header[:], 0, &frame.Open{ContainerID: "x"}, nil))
		}
	}
	c, err := net.DialTimeout("tcp", address, time.Second)
	must(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, err = io.WriteString(c, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
	must(t, err)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("beside idle connections a request gets %d", res.StatusCode)
	}
}
