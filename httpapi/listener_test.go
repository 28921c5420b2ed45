package httpapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mayflydb/mayfly/store"
)

// listeningServer is a server on a real port, with the certificates that a client needs to trust it.
type listeningServer struct {
	srv  *Server
	addr string
	conf *tls.Config
	stop func()
}

// serve starts a server on a real port, with TLS or without. Requests must not need its store.
func serve(t *testing.T, withTLS bool, o Options) *listeningServer {
	t.Helper()
	return serveWith(t, withTLS, o, func(*listeningServer) {})
}

// serveWith starts a server on a real port, with TLS or without. Before it serves, change can alter its
// settings. Requests must not need the server's store.
func serveWith(t *testing.T, withTLS bool, o Options, change func(*listeningServer)) *listeningServer {
	t.Helper()
	cert, text, _, err := Certificate("", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.DB, o.CertPEM = new(store.DB), text
	srv, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conf *tls.Config
	if withTLS {
		conf = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	s := &listeningServer{srv: srv, addr: ln.Addr().String(),
		conf: &tls.Config{RootCAs: pool, ServerName: "localhost"}}
	change(s)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln, conf) }()
	s.stop = sync.OnceFunc(func() {
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *listeningServer) client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: s.conf, DisableKeepAlives: false}}
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func TestBothProtocolsOnOnePort(t *testing.T) {
	t.Parallel()
	s := serve(t, true, Options{NoAuth: true})
	client := s.client()
	for range 2 { // the second round reuses the connections
		for _, scheme := range []string{"http", "https"} {
			status, body := get(t, client, scheme+"://"+s.addr+"/")
			var account struct {
				WritableLocations []struct{ DatabaseAccountEndpoint string }
			}
			if err := json.Unmarshal([]byte(body), &account); err != nil || status != 200 ||
				len(account.WritableLocations) != 1 {
				t.Fatalf("%s: %d %s", scheme, status, body)
			}
			if got := account.WritableLocations[0].DatabaseAccountEndpoint; got != scheme+"://"+s.addr+"/" {
				t.Errorf("%s: the account sends clients to %s", scheme, got)
			}
		}
	}
	if status, body := get(t, client, "https://"+s.addr+"/_explorer/emulator.pem"); status != 200 ||
		body != string(s.srv.opt.CertPEM) {
		t.Errorf("certificate: %d %s", status, body)
	}
	client.CloseIdleConnections()
	s.stop()
}

func TestWithoutTLS(t *testing.T) {
	t.Parallel()
	s := serve(t, false, Options{NoAuth: true})
	if status, _ := get(t, s.client(), "http://"+s.addr+"/"); status != 200 {
		t.Errorf("status %d", status)
	}
	if r, err := s.client().Get("https://" + s.addr + "/"); err == nil {
		t.Errorf("status %d over TLS, which is off", r.StatusCode)
	}
}

func TestSilentAndMalformedConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, true, Options{NoAuth: true})
	var open []net.Conn
	for _, hello := range []string{"", "", "", "\x16", "\x16\x03\x01\x00\x05hello", "GET", "\x00\x01",
		"\r\n"} {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, hello); err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	client := s.client()
	if status, _ := get(t, client, "https://"+s.addr+"/"); status != 200 {
		t.Errorf("status %d: silent clients keep others out", status)
	}
	client.CloseIdleConnections()
	for _, conn := range open[3:] { // those in the middle of something; the silent ones stay
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	s.stop()
	for _, conn := range open[:3] {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a silent connection was answered")
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSeveralListeners(t *testing.T) {
	t.Parallel()
	s := serve(t, true, Options{NoAuth: true})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.srv.Serve(ln, nil) }()
	for _, addr := range []string{s.addr, ln.Addr().String()} {
		if status, _ := get(t, s.client(), "http://"+addr+"/"); status != 200 {
			t.Errorf("%s: status %d", addr, status)
		}
	}
	s.stop()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := s.srv.Serve(ln, nil); err != nil {
		t.Errorf("serve after shutdown: %v", err)
	}
}

func TestShutdownCancelsRequests(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	s := serve(t, false, Options{Ready: func(ctx context.Context) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	}})
	client, answered := s.client(), make(chan error, 1)
	go func() {
		r, err := client.Get("http://" + s.addr + "/_mayfly/readyz")
		if err == nil {
			err = r.Body.Close()
		}
		answered <- err
	}()
	<-entered
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.srv.Shutdown(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
	<-answered
	client.CloseIdleConnections()
	s.stop()
	if status, _ := answerOf(s.srv, "GET", "/_mayfly/livez"); status != 503 {
		t.Errorf("status %d after shutdown", status)
	}
}

func TestTLSVersions(t *testing.T) {
	t.Parallel()
	s := serve(t, true, Options{NoAuth: true})
	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true,
		tls.VersionTLS13: true} {
		for _, offered := range [][]string{{"h2"}, {"h2", "http/1.1"}, {"http/1.1", "h2"}, {"http/1.1"},
			nil} {
			conf := s.conf.Clone()
			conf.MinVersion, conf.MaxVersion, conf.NextProtos = version, version, offered
			conn, err := tls.Dial("tcp", s.addr, conf)
			if (err == nil) != ok {
				t.Errorf("version %x: %v", version, err)
			}
			if err != nil {
				continue
			}
			want := ""
			if slices.Contains(offered, "h2") {
				want = "h2"
			} else if offered != nil {
				want = "http/1.1"
			}
			if got := conn.ConnectionState().NegotiatedProtocol; got != want {
				t.Errorf("version %x, offered %q: protocol %q, want %q", version, offered, got, want)
			}
			if err := conn.Close(); err != nil && !strings.Contains(err.Error(), "closed") {
				t.Error(err)
			}
		}
	}
}
