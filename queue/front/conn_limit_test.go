package front

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// TestIdleConnectionEviction checks, for each protocol, that the connection that has been idle for longest is
// closed for a new one if the limit of connections is reached.
func TestIdleConnectionEviction(t *testing.T) {
	const most = 3
	for name, begin := range map[string]func(t *testing.T, d *frontServerUnderTest) net.Conn{
		"silent": func(_ *testing.T, d *frontServerUnderTest) net.Conn { return d.dial(false) },
		"half a handshake": func(t *testing.T, d *frontServerUnderTest) net.Conn {
			c := d.dial(false)
			if _, err := io.WriteString(c, "\x16\x03\x01\x02"); err != nil {
				t.Fatal(err)
			}
			return c
		},
		"HTTP": func(t *testing.T, d *frontServerUnderTest) net.Conn {
			c := d.dial(false)
			if _, err := io.WriteString(c, "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			hears(t, c, "HTTP/1.1 200 OK")
			return c
		},
		"AMQP without a token": func(t *testing.T, d *frontServerUnderTest) net.Conn {
			c := d.dial(false)
			says(t, c, header)
			return c
		},
		"WebSocket without a token": func(t *testing.T, d *frontServerUnderTest) net.Conn {
			c, _, err := d.socket(false, webSocketPath, "amqp")
			if err != nil {
				t.Fatal(err)
			}
			says(t, c, header)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, func(o *Options) {
				o.Most = most
				o.AMQP = func(ctx context.Context, c net.Conn, _ func(bool)) error {
					return echo(ctx, c, func(bool) {})
				}
			})
			for range 3 * most {
				begin(t, d)
			}
			status, path, err := d.get("http://" + d.addr + "/b")
			if status != http.StatusOK || path != "/b" || err != nil {
				t.Errorf("beside idle connections a request gets %d %q %v", status, path, err)
			}
		})
	}
}

// TestBusyConnectionIsKept checks that a connection with a running request, or with an AMQP link, is not
// closed for a new connection: the new one waits.
func TestBusyConnectionIsKept(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	d := open(t, func(o *Options) {
		o.Most = 2
		o.HTTP = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			entered <- struct{}{}
			<-leave
			_, _ = io.WriteString(w, "done")
		})
	})
	linked := d.dial(false)
	says(t, linked, header)
	request := d.dial(false)
	if _, err := io.WriteString(request, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-entered
	third := d.dial(false)
	if _, err := io.WriteString(third, header); err != nil {
		t.Fatal(err)
	}
	_ = third.SetReadDeadline(ttl.SystemClock{}.Now().Add(20 * time.Millisecond))
	if n, err := third.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("there is one more connection than there may be")
	}
	_ = third.SetReadDeadline(ttl.SystemClock{}.Now().Add(someTime))
	close(leave) // the request ends, and its connection is idle
	hears(t, third, header)
	says(t, linked, strings.Repeat("x", 10))
}
