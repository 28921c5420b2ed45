//go:build long

package peers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var messageTime = flag.Duration("messagetime", 6*time.Second, "how long TestMessages measures each broker in each row")

// messageBytes is the size in bytes of the body of each message that the comparison sends.
const messageBytes = 1024

// broker is a server that stores messages durably before it acknowledges them.
type broker struct {
	name    string
	pid     int
	connect func(ctx context.Context) (messageClient, error) // a connection of its own for each client
	stop    func() error
}

// messageClient is a client of a broker that sends or receives messages on one connection.
type messageClient interface {
	// send sends a message with the given body to the broker, and returns when the broker has acknowledged
	// it.
	send(ctx context.Context, body []byte) error
	// receive waits for a message, and acknowledges it.
	receive(ctx context.Context) error
	close() error
}

// errAbsent means that a broker is not installed.
var errAbsent = errors.New("it is not installed")

// brokers starts Mayfly and those of the other brokers that are installed.
func brokers(t *testing.T) (list []*broker) {
	for _, b := range []struct {
		name  string
		start func(ctx context.Context, dir string) (*broker, error)
	}{{"Mayfly", startMayfly}, {"RabbitMQ", startRabbit}, {"Redis", startRedis}} {
		started, err := b.start(t.Context(), filepath.Join(t.TempDir(), "data"))
		if errors.Is(err, errAbsent) {
			t.Logf("%s: %v", b.name, err)
			continue
		}
		must(t, err)
		t.Cleanup(func() {
			if err := started.stop(); err != nil {
				t.Errorf("%s: %v", b.name, err)
			}
		})
		list = append(list, started)
	}
	return list
}

// TestMessages measures durable messages of 1 KB at Mayfly, RabbitMQ (quorum queue) and Redis (stream).
// Some clients send one message at a time, and as many receive and acknowledge. The brokers take turns of
// a short time.
func TestMessages(t *testing.T) {
	all := brokers(t)
	if len(all) < 2 {
		t.Skip("there is no other broker")
	}
	t.Logf("%-10s %-10s %10s %16s   medians of slices", "clients", "", "messages/s", "us of processor")
	for _, clients := range []int{1, 8, 64} {
		loads := make([]*brokerBenchmark, len(all))
		for i, b := range all {
			loads[i] = newBrokerLoad(t, b, clients)
		}
		const slices = 3
		for range slices {
			for _, l := range loads {
				l.run(t, *messageTime/slices)
			}
		}
		for _, l := range loads {
			t.Logf("%-10d %-10s %10.0f %16.0f", clients, l.broker.name, middle(l.rates), middle(l.cpu))
			l.close(t)
		}
	}
}

func middle(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// brokerBenchmark has the clients that load one broker, and for each turn the messages per second and the
// broker's processor time per message.
type brokerBenchmark struct {
	broker             *broker
	senders, receivers []messageClient
	rates, cpu         []float64
}

func newBrokerLoad(t *testing.T, b *broker, clients int) *brokerBenchmark {
	t.Helper()
	l := &brokerBenchmark{broker: b}
	for range clients {
		for _, list := range []*[]messageClient{&l.senders, &l.receivers} {
			c, err := b.connect(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", b.name, err)
			}
			*list = append(*list, c)
		}
	}
	return l
}

func (l *brokerBenchmark) close(t *testing.T) {
	t.Helper()
	for _, c := range slices.Concat(l.senders, l.receivers) {
		if err := c.close(); err != nil {
			t.Errorf("%s: %v", l.broker.name, err)
		}
	}
}

// run lets the clients send for the time d and receive until all messages have arrived, and adds the
// results of this turn.
func (l *brokerBenchmark) run(t *testing.T, d time.Duration) {
	t.Helper()
	body := []byte(strings.Repeat("message ", messageBytes/8))
	ctx, done := context.WithCancel(t.Context())
	defer done()
	began, before := time.Now(), timeOfProcess(t, l.broker.pid)
	var sent, received atomic.Int64
	var total atomic.Int64
	total.Store(-1) // not known yet
	count := func() {
		if n := total.Load(); n >= 0 && received.Load() >= n {
			done()
		}
	}
	var sending, receiving sync.WaitGroup
	for _, c := range l.receivers {
		receiving.Go(func() {
			for ctx.Err() == nil {
				if err := c.receive(ctx); err != nil {
					if ctx.Err() == nil {
						t.Errorf("%s: %v", l.broker.name, err)
						done()
					}
					return
				}
				received.Add(1)
				count()
			}
		})
	}
	for _, c := range l.senders {
		sending.Go(func() {
			for time.Since(began) < d && ctx.Err() == nil {
				if err := c.send(ctx, body); err != nil {
					t.Errorf("%s: %v", l.broker.name, err)
					done()
					return
				}
				sent.Add(1)
			}
		})
	}
	sending.Wait()
	total.Store(sent.Load())
	count()
	receiving.Wait()
	if received.Load() != sent.Load() {
		t.Fatalf("%s: %d of %d messages were received", l.broker.name, received.Load(), sent.Load())
	}
	n := float64(sent.Load())
	l.rates = append(l.rates, n/time.Since(began).Seconds())
	l.cpu = append(l.cpu, float64((timeOfProcess(t, l.broker.pid)-before).Microseconds())/n)
}

// timeOfProcess returns the processor time that a process has used. Linux counts it in ticks of 10 ms.
func timeOfProcess(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	var user, system int64
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	must(t, err)
	return time.Duration(user+system) * (time.Second / 100)
}
