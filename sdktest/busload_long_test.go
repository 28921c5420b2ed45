//go:build long

package sdktest

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"
	"github.com/cockroachdb/pebble/v2"
)

const (
	loadClients = 32
	loadTime    = 15 * time.Second
	loadBytes   = 1024
)

// TestServiceBusLoad measures how many messages of 1 KB concurrent clients send, receive and complete per
// second, and compares that with durable writes of Pebble alone, measured in the same run.
func TestServiceBusLoad(t *testing.T) {
	raw := rawSets(t)
	b := startBus(t, "--data", t.TempDir())
	b.create(t, "q")
	ctx, cancel := context.WithTimeout(t.Context(), loadTime)
	defer cancel()
	var sent, completed atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for range loadClients {
		all.Go(func() {
			c := b.client(t)
			defer c.Close(context.WithoutCancel(ctx))
			s, err := c.NewSender("q", nil)
			if err != nil {
				t.Error(err)
				return
			}
			var own []time.Duration
			for {
				began := time.Now()
				if err := s.SendMessage(ctx, &sb.Message{Body: make([]byte, loadBytes)}, nil); err != nil {
					break
				}
				own = append(own, time.Since(began))
				sent.Add(1)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
		})
		all.Go(func() {
			c := b.client(t)
			defer c.Close(context.WithoutCancel(ctx))
			r, err := c.NewReceiverForQueue("q", nil)
			if err != nil {
				t.Error(err)
				return
			}
			for ctx.Err() == nil {
				list, err := r.ReceiveMessages(ctx, 32, nil)
				if err != nil {
					return
				}
				var settles sync.WaitGroup
				for _, m := range list {
					settles.Go(func() {
						if r.CompleteMessage(ctx, m, nil) == nil {
							completed.Add(1)
						}
					})
				}
				settles.Wait()
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	seconds := loadTime.Seconds()
	both := float64(sent.Load()+completed.Load()) / seconds
	t.Logf("%.0f sent and %.0f completed a second; raw durable sets %.0f a second; ratio of operations %.2f, of messages %.2f; "+
		"send p50 %v, p99 %v", float64(sent.Load())/seconds, float64(completed.Load())/seconds, raw, both/raw,
		float64(sent.Load())/seconds/raw, took[len(took)/2], took[len(took)*99/100])
}

// rawSets returns how many durable writes of the same size Pebble alone makes per second for the same
// number of concurrent callers.
func rawSets(t *testing.T) float64 {
	t.Helper()
	db, err := pebble.Open(t.TempDir(), &pebble.Options{})
	must(t, err)
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), loadTime/4)
	defer cancel()
	var n atomic.Int64
	var all sync.WaitGroup
	for range 2 * loadClients {
		all.Go(func() {
			for ctx.Err() == nil {
				key := []byte(fmt.Sprintf("k%016x", n.Add(1)))
				if err := db.Set(key, make([]byte, loadBytes), pebble.Sync); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(n.Load()) / (loadTime / 4).Seconds()
}

// TestServiceBusConnections reports the memory that a thousand connections with ten links each cost.
func TestServiceBusConnections(t *testing.T) {
	const connections, links = 1000, 10
	b := startBus(t, "--memory")
	b.create(t, "q")
	before := resident(t, b.cmd.Process.Pid)
	conns := make([]*amqp.Conn, 0, connections)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range connections {
		raw, err := net.Dial("tcp", at(b.amqp))
		must(t, err)
		c, err := amqp.NewConn(t.Context(), raw, &amqp.ConnOptions{
			SASLType: amqp.SASLTypePlain("RootManageSharedAccessKey", "SAS_KEY_VALUE")})
		must(t, err)
		conns = append(conns, c)
		s, err := c.NewSession(t.Context(), nil)
		must(t, err)
		for range links {
			_, err := s.NewReceiver(t.Context(), "q", &amqp.ReceiverOptions{Credit: 10})
			must(t, err)
		}
	}
	after := resident(t, b.cmd.Process.Pid)
	t.Logf("%d connections of %d links: %d MB, %.1f KB a link", connections, links, (after-before)>>20,
		float64(after-before)/connections/links/1024)
}

// resident returns the resident memory of a process in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			must(t, err)
			return kb << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
