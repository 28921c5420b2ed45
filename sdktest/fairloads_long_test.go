//go:build long

package sdktest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/rntbdtest"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// serverLoadScenario is a load that clients put on a server while other clients read: an attack, or cheap
// requests for comparison.
type serverLoadScenario struct {
	name    string
	prepare func(t *testing.T, a *attackedServer, b serviceBusServer) // nil: nothing
	clients int
	// do makes one operation of one client. It is called again and again until the load ends.
	do func(ctx context.Context, l *loadGenerator)
}

// loadGenerator is the client side of a running load. It runs in a process of its own.
type loadGenerator struct {
	http, amqp, admin int // ports
	rate              int // requests a second of all clients; 0: as many as the server answers
	client            http.Client
	done              atomic.Int64
	begun             time.Time
	sent              atomic.Int64 // since begun
	bomb              []byte
}

// TestLoadProcess is no test: TestAttackBesideReaders runs it in another process, where it generates the
// load that MAYFLY_LOAD names.
func TestLoadProcess(t *testing.T) {
	name := os.Getenv("MAYFLY_LOAD")
	if name == "" {
		t.Skip("TestAttackBesideReaders runs it")
	}
	var f serverLoadScenario
	for _, l := range append(fairLoads(), fairHonest()) {
		if l.name == name {
			f = l
		}
	}
	l := &loadGenerator{bomb: gzipped(t, []byte(`{"id":"z","pk":"x","v":"`), 64<<20)}
	l.client.Transport = &http.Transport{MaxIdleConnsPerHost: 2000}
	_, err := fmt.Sscan(os.Getenv("MAYFLY_LOAD_PORTS"), &l.http, &l.amqp, &l.admin)
	must(t, err)
	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		switch command, argument, _ := strings.Cut(commands.Text(), " "); command {
		case "on":
			l.rate, err = strconv.Atoi(argument)
			must(t, err)
			l.begun = time.Now()
			l.sent.Store(0)
			for range f.clients {
				work.Go(func() {
					for ctx.Err() == nil {
						f.do(ctx, l)
						l.done.Add(1)
					}
				})
			}
		case "off":
			cancel()
			work.Wait()
			l.client.CloseIdleConnections()
			ctx, cancel = context.WithCancel(t.Context())
		}
		fmt.Printf("\nload: %d\n", l.done.Load())
	}
	cancel()
	work.Wait()
}

// pace waits until the next request is due according to the load's rate, in requests per second, or until ctx
// ends. If the load has no rate, it returns at once.
func (l *loadGenerator) pace(ctx context.Context) {
	if l.rate == 0 {
		return
	}
	due := l.begun.Add(time.Duration(float64(l.sent.Add(1)) / float64(l.rate) * float64(time.Second)))
	select {
	case <-time.After(time.Until(due)):
	case <-ctx.Done():
	}
}

// ask sends a request with the master key and ignores the response.
func (l *loadGenerator) ask(ctx context.Context, method, path, body string, headers ...string) {
	l.to(ctx, l.http, "Bearer "+EmulatorKey, method, path, body, headers...)
}

// rest sends a request with a valid token to the HTTP port of Service Bus, and ignores the response.
func (l *loadGenerator) rest(ctx context.Context, method, path, body string, headers ...string) {
	token := access.Sign(access.EmulatorKey(), "http://localhost/", time.Now().Add(time.Hour))
	l.to(ctx, l.admin, token, method, path, body, headers...)
}

func (l *loadGenerator) to(ctx context.Context, port int, token, method, path, body string,
	headers ...string) {
	req, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://127.0.0.1:%d/%s", port, path),
		strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Host = "localhost"
	req.Header.Set("Authorization", token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := l.client.Do(req)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
}

// dial opens a TCP connection to a port of the server. It returns nil if that fails.
func (l *loadGenerator) dial(ctx context.Context, port int) net.Conn {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil
	}
	return c
}

// fairHonest returns the load to which attacks are compared: point reads in a container that is not
// attacked.
func fairHonest() serverLoadScenario {
	return serverLoadScenario{name: "honest", clients: 16, do: func(ctx context.Context, l *loadGenerator) {
		l.pace(ctx)
		l.ask(ctx, "GET", "dbs/d/colls/quiet/docs/1", "", key("a")...)
	}}
}

// askSQL returns a client operation, for serverLoadScenario.do, that runs a query.
func askSQL(text string) func(context.Context, *loadGenerator) {
	body, err := json.Marshal(map[string]string{"query": text})
	if err != nil {
		panic(err)
	}
	return func(ctx context.Context, l *loadGenerator) {
		l.ask(ctx, "POST", "dbs/d/colls/v/docs", string(body), append(query, key("x")...)...)
	}
}

// fairLoads returns the attacks that TestAttackBesideReaders measures.
func fairLoads() []serverLoadScenario {
	const most = 1_900_000
	deep := `{"id":"b","pk":"x","v":` + strings.Repeat("[", most/2) + strings.Repeat("]", most/2) + `}`
	list := `{"id":"b","pk":"x","v":[` + strings.Repeat("1,", most/2) + `1]}`
	var names strings.Builder
	names.WriteString(`{"id":"b","pk":"x","v":{`)
	for i := range 100_000 {
		fmt.Fprintf(&names, `"member%d":%d,`, i, i)
	}
	names.WriteString(`"z":1}}`)
	upsert := append(key("x"), "x-ms-documentdb-is-upsert", "True")
	var bulk strings.Builder
	bulk.WriteString("[")
	for i := range 100 {
		if i > 0 {
			bulk.WriteString(",")
		}
		fmt.Fprintf(&bulk, `{"operationType":"Upsert","resourceBody":{"id":"i%d","pk":"x","a":%q,"b":[1,2,3],"c":{"d":%d}}}`, i,
			strings.Repeat("y", 2000), i)
	}
	bulk.WriteString("]")
	return []serverLoadScenario{
		{"deep JSON", nil, 8, func(ctx context.Context, l *loadGenerator) {
			l.ask(ctx, "POST", "dbs/d/colls/v/docs", deep, key("x")...)
		}},
		{"long arrays in JSON", nil, 8, func(ctx context.Context, l *loadGenerator) {
			l.ask(ctx, "POST", "dbs/d/colls/v/docs", list, upsert...)
		}},
		{"many names in JSON", nil, 8, func(ctx context.Context, l *loadGenerator) {
			l.ask(ctx, "POST", "dbs/d/colls/v/docs", names.String(), upsert...)
		}},
		{"regular expressions", prepareItem, 16, askSQL(`SELECT VALUE RegexMatch(c.s, "^(a+)+$b") FROM c`)},
		{"joins", prepareItem, 16,
			askSQL("SELECT VALUE COUNT(1) FROM c JOIN x IN c.arr JOIN y IN c.arr JOIN z IN c.arr JOIN w IN c.arr")},
		{"long SQL", prepareItem, 16, askSQL("SELECT * FROM c WHERE c.n IN (" + strings.Repeat("1,", 100_000) + "1)")},
		{"nested SQL", prepareItem, 16, askSQL("SELECT * FROM c WHERE " + strings.Repeat("c.n=2 OR ", 20_000) + "c.n=1")},
		{"scripts", func(_ *testing.T, a *attackedServer, _ serviceBusServer) {
			// What is above four fifths of the limit is not called again, so each call has a script of its
			// own.
			for i := range 400 {
				a.procedure(fmt.Sprint("loop", i), `function(){for(var i=0;i<60000000;i++){}}`)
			}
		}, 16, func(ctx context.Context, l *loadGenerator) {
			l.ask(ctx, "POST", fmt.Sprint("dbs/d/colls/v/sprocs/loop", l.sent.Add(1)%400), "[]", key(fmt.Sprint(l.sent.Load()))...)
		}},
		{"scripts that allocate", func(_ *testing.T, a *attackedServer, _ serviceBusServer) {
			a.procedure("plus", `function(){var s=[];for(var i=0;i<3e5;i++)s.push({a:i,b:[i]});return s.length}`)
		}, 16, func(ctx context.Context, l *loadGenerator) {
			l.ask(ctx, "POST", "dbs/d/colls/v/sprocs/plus", "[]", key("x")...)
		}},
		{"filters", prepareFilters, 8, func(ctx context.Context, l *loadGenerator) {
			l.rest(ctx, "POST", "topic/messages", "hello", "name", `"`+strings.Repeat("a", 4000)+`"`)
		}},
		{"frames of AMQP", nil, 8, floodAMQP},
		{"frames of direct mode", nil, 8, floodDirect},
		{"compressed bodies", nil, 8, func(ctx context.Context, l *loadGenerator) {
			l.ask(ctx, "POST", "dbs/d/colls/v/docs", string(l.bomb), append(key("x"), "Content-Encoding", "gzip")...)
		}},
		{"silent readers", prepareLarge, 64, func(ctx context.Context, l *loadGenerator) {
			c := l.dial(ctx, l.http)
			if c == nil {
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "GET /dbs/d/colls/v/docs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
				"x-ms-max-item-count: -1\r\n\r\n", EmulatorKey)
			<-ctx.Done()
		}},
		{"readers that hang up", prepareLarge, 16, func(ctx context.Context, l *loadGenerator) {
			c := l.dial(ctx, l.http)
			if c == nil {
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "GET /dbs/d/colls/v/docs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
				"x-ms-max-item-count: -1\r\n\r\n", EmulatorKey)
			time.Sleep(20 * time.Millisecond)
		}},
		{"large reads", prepareLarge, 16, func(ctx context.Context, l *loadGenerator) {
			l.ask(ctx, "GET", "dbs/d/colls/v/docs", "", "x-ms-max-item-count", "-1")
		}},
		{"imports", nil, 8, func(ctx context.Context, l *loadGenerator) {
			l.ask(ctx, "POST", "dbs/d/colls/v/docs", bulk.String(), append(key("x"), "x-ms-cosmos-is-batch-request", "True",
				"x-ms-cosmos-batch-atomic", "True")...)
		}},
		{"new connections", nil, 32, func(ctx context.Context, l *loadGenerator) {
			if c := l.dial(ctx, l.http); c != nil {
				_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n")
				c.Close()
			}
		}},
		{"TLS handshakes", nil, 16, func(ctx context.Context, l *loadGenerator) {
			if c := l.dial(ctx, l.http); c != nil {
				_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
				c.Close()
			}
		}},
		{"thousands of connections", nil, 3000, func(ctx context.Context, l *loadGenerator) {
			if c := l.dial(ctx, l.http); c != nil {
				defer c.Close()
				for ctx.Err() == nil {
					if _, err := io.WriteString(c, "GET /_mayfly/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
						return
					}
					select {
					case <-time.After(2 * time.Second):
					case <-ctx.Done():
					}
				}
			}
		}},
		{"long polls", func(t *testing.T, _ *attackedServer, b serviceBusServer) { b.create(t, "polled") },
			1000,
			func(ctx context.Context, l *loadGenerator) {
				if l.sent.Add(1)%500 == 0 {
					for ctx.Err() == nil {
						l.rest(ctx, "POST", "polled/messages", "hello")
					}
				}
				l.rest(ctx, "DELETE", "polled/messages/head?timeout=60", "")
			}},
		{"polls of events", func(_ *testing.T, a *attackedServer, _ serviceBusServer) {
			a.want(200, "PATCH", "_mayfly/dbs/d/colls/v/settings", `{"expiryEvents":{}}`)
		}, 1000, func(ctx context.Context, l *loadGenerator) {
			if l.sent.Add(1)%500 == 0 {
				for n := 0; ctx.Err() == nil; n++ {
					l.ask(ctx, "POST", "dbs/d/colls/v/docs", fmt.Sprintf(`{"id":"e%d","pk":"x","ttl":1}`, n), upsert...)
					time.Sleep(5 * time.Millisecond)
				}
			}
			l.ask(ctx, "GET", "_mayfly/dbs/d/colls/v/events?after=now&wait=60", "")
		}},
	}
}

// prepareItem creates an item on which the queries of some attacks take long.
func prepareItem(_ *testing.T, a *attackedServer, _ serviceBusServer) {
	numbers := strings.Trim(strings.Repeat("1,", 1000), ",")
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"q","pk":"x","n":1,"s":"`+strings.Repeat("a", 1000)+`","arr":[`+numbers+`]}`,
		key("x")...)
}

// prepareLarge creates items of 1 MB, so that pages of results are large.
func prepareLarge(_ *testing.T, a *attackedServer, _ serviceBusServer) {
	for i := range 8 {
		a.want(201, "POST", "dbs/d/colls/v/docs", fmt.Sprintf(`{"id":"%d","pk":"x","pad":%q}`, i, strings.Repeat("x", 1<<20)),
			key("x")...)
	}
}

// prepareFilters creates a subscription with many slow rules.
func prepareFilters(t *testing.T, _ *attackedServer, b serviceBusServer) {
	b.create(t, "topic", "s")
	expression := "name LIKE '" + strings.Repeat("%a", 400) + "b'"
	for i := range 200 {
		body := `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><RuleDescription ` +
			`xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">` +
			`<Filter i:type="SqlFilter"><SqlExpression>` + expression + `</SqlExpression></Filter></RuleDescription></content></entry>`
		if status, answer := b.atom(t, "PUT", fmt.Sprint("topic/Subscriptions/s/rules/like", i), body); status != 201 {
			t.Fatalf("a rule: %d %.200s", status, answer)
		}
	}
}

// floodAMQP opens an AMQP connection without credentials and sends many small frames, which attach and detach
// links. It returns when the server has closed the connection or ctx ends.
func floodAMQP(ctx context.Context, l *loadGenerator) {
	c := l.dial(ctx, l.amqp)
	if c == nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	go func() { _, _ = io.Copy(io.Discard, c) }()
	header := frame.HeaderAMQP()
	b := bytes.NewBuffer(header[:])
	b.Write(frame.Append(nil, 0, &frame.Open{ContainerID: "x", MaxFrameSize: 1 << 16}, nil))
	b.Write(frame.Append(nil, 0, &frame.Begin{IncomingWindow: 5000, OutgoingWindow: 5000, HandleMax: 99}, nil))
	if _, err := c.Write(b.Bytes()); err != nil {
		return
	}
	b.Reset()
	for n := range 200 {
		h := uint32(n % 8)
		b.Write(frame.Append(nil, 0, &frame.Attach{Name: fmt.Sprint("l", h), Handle: h,
			Source: &frame.Source{Address: "me", HasAddress: true},
			Target: &frame.Target{Address: "$cbs", HasAddress: true}, InitialDeliveryCount: frame.Some(0)}, nil))
		b.Write(frame.Append(nil, 0, &frame.Detach{Handle: h, Closed: true}, nil))
	}
	for ctx.Err() == nil {
		if _, err := c.Write(b.Bytes()); err != nil {
			return
		}
	}
}

// floodDirect opens a connection of direct mode and sends requests with an invalid authorization token over
// it, as fast as it can, until ctx ends. It ignores the responses.
func floodDirect(ctx context.Context, l *loadGenerator) {
	raw := l.dial(ctx, l.http)
	if raw == nil {
		return
	}
	c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	defer c.Close()
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	if _, err := c.Write(rntbdtest.Context()); err != nil {
		return
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	one := rntbdtest.Frame(3, 3, [16]byte{1}, nil, rntbdtest.Text(1, "Bearer wrong"), rntbdtest.Text(0x15, "d"),
		rntbdtest.Text(0x16, "v"), rntbdtest.Text(0x17, strings.Repeat("x", 1000)), rntbdtest.Text(0x2B, `["x"]`))
	many := bytes.Repeat(one, 50)
	for ctx.Err() == nil {
		if _, err := c.Write(many); err != nil {
			return
		}
	}
}
