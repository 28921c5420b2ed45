package main

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// busPorts returns the addresses of the four Service Bus ports that the server b has printed at its start.
func busPorts(t *testing.T, b *mayflyServerUnderTest) (ports []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`Endpoint=sb://(localhost:\d+);`).FindAllStringSubmatch(b.greet,
		-1) {
		ports = append(ports, m[1])
	}
	if len(ports) != 4 {
		t.Fatalf("the greeting names %v:\n%s", ports, b.greet)
	}
	return ports
}

// bootBus runs `mayfly serve` with Service Bus in the process of the test, on any free ports.
func bootBus(t *testing.T, args ...string) *mayflyServerUnderTest {
	t.Helper()
	return boot(t, append([]string{"--servicebus", "--servicebus-port", "0", "--servicebus-admin-port", "0",
		"--servicebus-tls-port", "0", "--servicebus-admin-tls-port", "0"}, args...)...)
}

// TestServiceBusPorts checks that every Service Bus port answers HTTP and AMQP, both with and without TLS.
func TestServiceBusPorts(t *testing.T) {
	t.Parallel()
	b := bootBus(t, "--memory")
	if !strings.Contains(b.greet,
		";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;") {
		t.Error(b.greet)
	}
	pem := b.must(t, 200, "GET", "/_mayfly/cert.pem", "")
	const header = "AMQP\x00\x01\x00\x00"
	for _, port := range busPorts(t, b) {
		for _, scheme := range []string{"http://", "https://"} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", scheme+port+"/health", nil)
			if err != nil {
				t.Fatal(err)
			}
			if status, body := send(t, client(trusting(pem)), req); status != 200 ||
				!strings.Contains(body, "healthy") {
				t.Errorf("%s%s: %d %s", scheme, port, status, body)
			}
			req.Host = "evil.example"
			if status, _ := send(t, client(trusting(pem)), req); status != 403 {
				t.Errorf("a page that has made its name lead here gets %d", status)
			}
		}
		plain, err := net.Dial("tcp", port)
		if err != nil {
			t.Fatal(err)
		}
		secure, err := tls.Dial("tcp", port, trusting(pem))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []net.Conn{plain, secure} {
			got := make([]byte, len(header))
			if _, err := c.Write([]byte(header)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(got); err != nil || string(got) != header {
				t.Errorf("%s answers %q %v", port, got, err)
			}
			c.Close()
		}
	}
	if code := b.stop(t); code != 0 {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
}

// TestServiceBusConfig checks that the entities of a Config.json exist after each start, and that `mayfly
// check` finds no violation in the data folder.
func TestServiceBusConfig(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "Config.json")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"orders","Properties":{"MaxDeliveryCount":3}}]}]}}`)
	for i := range 2 {
		b := bootBus(t, "--data", dir, "--servicebus-config", name, "--no-auth")
		url := "http://" + busPorts(t, b)[1]
		for _, r := range []struct {
			method, path,
			want string
		}{{"GET", "/orders", "<MaxDeliveryCount>3</MaxDeliveryCount>"},
			{"POST", "/orders/messages", ""}} {
			req, err := http.NewRequestWithContext(t.Context(), r.method, url+r.path, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			if status, body := send(t, client(nil), req); status > 201 || !strings.Contains(body, r.want) {
				t.Errorf("%s: %d %s", r.path, status, body)
			}
		}
		b.stop(t)
		want := []string{"1 queue, topic or subscription, 1 message",
			"1 queue, topic or subscription, 2 messages"}[i]
		if code, out, errs := mayfly(t, "check", dir); code != 0 ||
			!strings.Contains(out, want+": 0 violations") {
			t.Errorf("check: %d %s%s", code, out, errs)
		}
	}
	write("{\n\"Other\": 1}")
	code, _, errs := mayfly(t, "serve", "--port", "0", "--memory", "--servicebus", "--servicebus-config",
		name)
	if code == 0 || !strings.Contains(errs, "Config.json:2:1: 'Other' is not known here") {
		t.Errorf("%d %s", code, errs)
	}
}

// TestServiceBusInvalidSettings checks that the server does not start with invalid Service Bus settings, or
// if a Service Bus port that the user has set is in use.
func TestServiceBusInvalidSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--servicebus-port", []string{"--servicebus", "--servicebus-port", "many"}},
		{"NAME:RIGHTS:KEY", []string{"--servicebus", "--servicebus-key", "name"}},
		{"without --servicebus", []string{"--servicebus-key", "a:Send:b"}},
		{"servicebus-key of your own", []string{"--servicebus", "--host", "0.0.0.0", "--key", "c2VjcmV0"}},
	} {
		code, _, errs := mayfly(t, append([]string{"serve", "--memory", "--port", "0"}, c.args...)...)
		if code == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: %d %s", c.args, code, errs)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	code, _, errs := mayfly(t, "serve", "--memory", "--port", "0", "--servicebus", "--servicebus-port", port)
	if code == 0 || !strings.Contains(errs, port) {
		t.Errorf("a port that is taken: %d %s", code, errs)
	}
}

// TestExpiredDocumentsToQueue checks that each expired document of a container with onExpire.forwardTo
// becomes exactly one message of that queue. A document that cannot become a message yet is kept until it
// can.
func TestExpiredDocumentsToQueue(t *testing.T) {
	t.Parallel()
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "Config.json")
	if err := os.WriteFile(name,
		[]byte(`{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"dead"},{"Name":"news"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--data", dir, "--virtual-clock", "--no-auth", "--servicebus-config", name}
	b := bootBus(t, args...)
	b.must(t, 201, "POST", "/dbs", `{"id":"db"}`)
	b.must(t, 201, "POST", "/dbs/db/colls",
		`{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"},"defaultTtl":-1}`)
	const settings = "/_mayfly/dbs/db/colls/c/settings"
	for _, on := range []string{`{"forwardTo":"absent"}`, `{"forwardTo":"dead","moveTo":"x"}`, `{}`,
		`{"forwardTo":"dead/$DeadLetterQueue"}`} {
		b.must(t, 400, "PATCH", settings, `{"onExpire":`+on+`}`)
	}
	if got := b.must(t, 200, "PATCH", settings, `{"onExpire":{"forwardTo":"dead"}}`); !strings.Contains(got,
		`"onExpire":{"forwardTo":"dead"}`) {
		t.Error(got)
	}
	b.must(t, 400, "PATCH", settings, `{"changesTo":"absent"}`)
	b.must(t, 400, "PATCH", settings, `{"changesTo":{}}`)
	b.must(t, 200, "PATCH", settings, `{"changesTo":"news"}`)
	b.must(t, 201, "POST", "/dbs/db/colls/c/docs", `{"id":"1","pk":"a","ttl":10,"n":5}`,
		"x-ms-documentdb-partitionkey", `["a"]`)
	b.stop(t)

	b = bootBus(t, args...)
	url := "http://" + busPorts(t, b)[0]
	path := "/dead/messages/head?timeout=0"
	take := func(want int) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "DELETE", url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client(nil).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != want {
			t.Fatalf("%d %s %v", res.StatusCode, body, err)
		}
		return string(body) + " " + res.Header.Get("Source") + " " + res.Header.Get("Id") + " " +
			res.Header.Get("Content-Type")
	}
	take(204)
	b.must(t, 200, "PUT", "/_mayfly/clock", `{"advance":"10s"}`)
	b.must(t, 200, "POST", "/_mayfly/reaper/run", "")
	got := take(200)
	for _, want := range []string{`"n":5`, `"id":"1"`, ` "db/c" "1" application/json`} {
		if !strings.Contains(got, want) {
			t.Errorf("the message is %s, without %s", got, want)
		}
	}
	take(204)
	path = "/news/messages/head?timeout=20"
	if got := take(200); !strings.Contains(got, `"n":5`) || !strings.Contains(got, ` "db/c" "1" application/json`) {
		t.Errorf("the change is %s", got)
	}
	b.stop(t)
	if code, out, errs := mayfly(t, "check", dir); code != 0 {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
}
