package sdktest

import (
	"bytes"
	bits "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/rntbdtest"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp/frame"
)

// TestAttackByWebhooks checks that webhooks cannot reach addresses that are not allowed: not by another
// spelling of the address, not by a host name, and not by a redirect from an allowed endpoint.
func TestAttackByWebhooks(t *testing.T) {
	var called, inside atomic.Int64
	internal := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	t.Cleanup(internal.Close)
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := []int{301, 302, 303, 307, 308}[called.Add(1)%5]
		http.Redirect(w, r, internal.URL+"/latest/meta-data", status)
	}))
	t.Cleanup(outer.Close)
	a := attacked(t, "--webhook-allow", "127.0.0.1")
	const settings = "_mayfly/dbs/d/colls/v/settings"
	_, port, err := net.SplitHostPort(internal.Listener.Addr().String())
	must(t, err)
	webhook := func(url string) string { return `{"expiryEvents":{"webhooks":[{"url":"` + url + `"}]}}` }
	for _, host := range []string{"[::1]", "127.0.0.2", "127.1", "0", "2130706433", "0x7f000001", "017700000001",
		"169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "10.0.0.1", "127.0.0.1@10.0.0.1"} {
		url := "http://" + host + ":" + port + "/"
		if status, answer := a.does("PATCH", settings, webhook(url)); status != 400 && status != 403 {
			t.Errorf("a webhook to %s: %d %s", url, status, answer)
		}
	}
	for _, url := range []string{"file:///etc/passwd", "gopher://127.0.0.1:" + port, "ftp://127.0.0.1/", "http://127.0.0.1:99999/",
		"//127.0.0.1:" + port, "unix:///run/docker.sock", "javascript:alert(1)", "http://127.0.0.1:" + port + "\\u0000/"} {
		a.refused("PATCH", settings, webhook(url))
	}
	a.want(200, "PATCH", settings, webhook(outer.URL))
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"w","pk":"x","ttl":1}`, key("x")...)
	a.want(200, "PUT", "_mayfly/clock", `{"advance":"1h"}`)
	for end := time.Now().Add(attackTime); called.Load() < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the webhook is not called")
		}
	}
	if n := inside.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// TestAttackByPaths checks that paths and names such as ../secret, in requests and files, neither read nor
// write files outside of the server's folders.
func TestAttackByPaths(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "in", "data")
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(parent, "secret"), []byte("root:secret"), 0o600))
	a := &attackedServer{t: t, s: start(t, "--data", dir, "--virtual-clock")}
	a.prepare()
	for _, up := range []string{"../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..\\", "..%5c", "....//", "%c0%ae%c0%ae/", "..%00/"} {
		for _, base := range []string{"", "_explorer/", "_explorer/docs/", "_explorer/assets/", "_mayfly/", "dbs/d/colls/v/docs/",
			"_mayfly/snapshots/", "_mayfly/openapi.json/", "debug/pprof/"} {
			status, answer := a.raw("GET /" + base + strings.Repeat(up, 12) + "secret HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
				EmulatorKey + "\r\nConnection: close\r\n\r\n")
			if strings.Contains(answer, "root:secret") || status >= 500 {
				t.Errorf("GET /%s%s: %d %.200s", base, up, status, answer)
			}
		}
	}
	for _, name := range []string{"../escaped", "..", "/tmp/escaped", `..\escaped`, "a/../../escaped", "\x00", "con", "a\nb"} {
		text, err := json.Marshal(name)
		must(t, err)
		for _, path := range []string{"_mayfly/snapshots", "_mayfly/dbs/d/colls/v/fork"} {
			if status, answer := a.does("POST", path, `{"name":`+string(text)+`,"as":`+string(text)+`}`); status >= 500 {
				t.Errorf("%s named %q: %d %.200s", path, name, status, answer)
			}
		}
		if status, answer := a.does("POST", "dbs", `{"id":`+string(text)+`}`); status >= 500 {
			t.Errorf("a database named %q: %d %.200s", name, status, answer)
		}
	}
	must(t, a.s.Stop())
	must(t, filepath.WalkDir(parent, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && !strings.HasPrefix(dir, path) && !strings.HasPrefix(path, dir) && path != filepath.Join(parent, "secret") {
			t.Errorf("%s has come into being", path)
		}
		return err
	}))
	check(t, dir)
}

// raw sends bytes to the HTTP port, and returns the status and the whole text of the response. status is 0
// if there is no response.
func (a *attackedServer) raw(request string) (status int, answer string) {
	a.t.Helper()
	c := a.dial()
	defer c.Close()
	must(a.t, c.SetDeadline(time.Now().Add(neighbourTime)))
	_, err := io.WriteString(c, request)
	must(a.t, err)
	text, _ := io.ReadAll(c)
	if _, rest, found := strings.Cut(string(text), "HTTP/1.1 "); found {
		status, _ = strconv.Atoi(rest[:3])
	}
	return status, string(text)
}

// TestAttackByTokens checks that a resource token gives access to what its permission names, and to
// nothing else.
func TestAttackByTokens(t *testing.T) {
	a := attacked(t)
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"1","pk":"x"}`, key("x")...)
	a.want(201, "POST", "dbs/d/colls/v/docs", `{"id":"2","pk":"y"}`, key("y")...)
	a.want(201, "POST", "dbs/d/users", `{"id":"u"}`)
	var made struct {
		Token string `json:"_token"`
	}
	must(t, json.Unmarshal([]byte(a.want(201, "POST", "dbs/d/users/u/permissions",
		`{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/v","resourcePartitionKey":["x"]}`)), &made))
	with := func(headers ...string) []string { return append(headers, "Authorization", made.Token) }
	a.want(200, "GET", "dbs/d/colls/v/docs/1", "", with(key("x")...)...)
	all := append([]string{"x-ms-documentdb-query-enablecrosspartition", "true"}, query...)
	for _, c := range []struct {
		method, path, body string
		headers            []string
	}{
		{"GET", "dbs/d/colls/v/docs/2", "", key("y")},
		{"GET", "dbs/d/colls/quiet/docs/1", "", key("a")},
		{"GET", "dbs/d/colls/v/docs", "", nil},
		{"GET", "dbs/d/colls/v/docs", "", []string{"A-IM", "Incremental feed"}},
		{"POST", "dbs/d/colls/v/docs", `{"query":"SELECT * FROM c"}`, all},
		{"POST", "dbs/d/colls/v/docs", `{"query":"SELECT * FROM c"}`, append(key("y"), query...)},
		{"POST", "dbs/d/colls/v/docs", `{"id":"3","pk":"x"}`, key("x")},
		{"PUT", "dbs/d/colls/v/docs/1", `{"id":"1","pk":"x","n":1}`, key("x")},
		{"PATCH", "dbs/d/colls/v/docs/1", `{"operations":[{"op":"add","path":"/n","value":1}]}`, key("x")},
		{"DELETE", "dbs/d/colls/v/docs/1", "", key("x")},
		{"POST", "dbs/d/colls/v/docs", `[{"operationType":"Create","resourceBody":{"id":"4","pk":"x"}}]`,
			append(key("x"), "x-ms-cosmos-is-batch-request", "True")},
		{"POST", "dbs/d/colls/v/sprocs", `{"id":"s","body":"function(){}"}`, nil},
		{"POST", "dbs/d/users/u/permissions", `{"id":"q","permissionMode":"All","resource":"dbs/d/colls/v"}`, nil},
		{"PUT", "dbs/d/users/u/permissions/p", `{"id":"p","permissionMode":"All","resource":"dbs/d/colls/v"}`, nil},
		{"GET", "dbs", "", nil},
		{"DELETE", "dbs/d/colls/v", "", nil},
		{"PUT", "_mayfly/clock", `{"advance":"1h"}`, nil},
		{"GET", "_mayfly/requests", "", nil},
		{"POST", "_mayfly/snapshots", `{"name":"s"}`, nil},
		{"PATCH", "_mayfly/dbs/d/colls/v/settings", `{}`, nil},
	} {
		if status, answer := a.does(c.method, c.path, c.body, with(c.headers...)...); status != 401 && status != 403 {
			t.Errorf("%s %s %s: %d %.200s", c.method, c.path, c.body, status, answer)
		}
	}
	for i := range len(made.Token) { // no other token is taken
		forged := []byte(made.Token)
		forged[i] ^= 1
		if status, answer := a.does("GET", "dbs/d/colls/v/docs/2", "", append(key("y"), "Authorization", string(forged))...); status < 400 {
			t.Errorf("a token changed at %d: %d %.200s", i, status, answer)
		}
	}
	if got := a.want(200, "GET", "dbs/d/colls/v/docs/1", "", key("x")...); strings.Contains(got, `"n"`) {
		t.Errorf("it has changed: %s", got)
	}
}

// TestAttackByBusKeys checks that a Service Bus token gives only the rights of its key, on its entity,
// until it expires.
func TestAttackByBusKeys(t *testing.T) {
	b := startBus(t, "--memory", "--servicebus-key", strictKey, "--servicebus-key", "listener:Listen:bGlzdGVu",
		"--servicebus-key", "sender:Send:c2VuZA==")
	token := func(name string, rights access.Rights, text, resource string, life time.Duration) string {
		return access.Sign(access.Key{Name: name, Rights: rights, Text: text}, "http://localhost/"+resource, time.Now().Add(life))
	}
	root := token("root", access.All, strings.TrimPrefix(strictKey, "root:Manage+Send+Listen:"), "", time.Hour)
	entry := `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription ` +
		`xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"/></content></entry>`
	for _, q := range []string{"q", "other"} {
		if status, answer := b.restAs(t, root, "PUT", q+"?api-version=2021-05", entry); status != 201 {
			t.Fatalf("a queue is not made: %d %s", status, answer)
		}
	}
	listener, sender := token("listener", access.All, "bGlzdGVu", "", time.Hour), token("sender", access.All, "c2VuZA==", "", time.Hour)
	for name, c := range map[string]struct{ token, method, path string }{
		"a listener sends":            {listener, "POST", "q/messages"},
		"a sender receives":           {sender, "DELETE", "q/messages/head?timeout=0"},
		"a sender looks":              {sender, "POST", "q/messages/head?timeout=0"},
		"a listener deletes a queue":  {listener, "DELETE", "q?api-version=2021-05"},
		"a sender makes a queue":      {sender, "PUT", "new?api-version=2021-05"},
		"a token of another entity":   {token("sender", access.All, "c2VuZA==", "other", time.Hour), "POST", "q/messages"},
		"a token that has expired":    {token("sender", access.All, "c2VuZA==", "", -time.Hour), "POST", "q/messages"},
		"a token of another key":      {token("sender", access.All, "bGlzdGVu", "", time.Hour), "POST", "q/messages"},
		"the key of the emulators":    {access.Sign(access.EmulatorKey(), "http://localhost/", time.Now().Add(time.Hour)), "POST", "q/messages"},
		"no token":                    {"", "POST", "q/messages"},
		"the master key of documents": {"Bearer " + EmulatorKey, "POST", "q/messages"},
	} {
		if status, answer := b.restAs(t, c.token, c.method, c.path, entry); status != 401 && status != 403 {
			t.Errorf("%s: %d %.200s", name, status, answer)
		}
	}
	if status, _ := b.restAs(t, sender, "POST", "q/messages", "x"); status != 201 {
		t.Errorf("a sender cannot send: %d", status)
	}
	for _, origin := range []string{"https://evil.example", "null"} {
		if status, _ := b.restAs(t, sender, "POST", "q/messages", "x", "Origin", origin); status != 403 {
			t.Errorf("a page of %s: %d", origin, status)
		}
	}
}

// TestAttackOnSecrets checks that no key, token or signature appears in the log, in the log of requests,
// in the metrics, or in an error response.
func TestAttackOnSecrets(t *testing.T) {
	const own = "bXkgb3duIHNlY3JldCBrZXkgZm9yIHRoaXMgdGVzdCBhbG9uZQ=="
	file := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(file, []byte(own), 0o600))
	b := serviceBusServer{}
	var err error
	b.plainAdmin, err = FreePort()
	must(t, err)
	b.Server = start(t, "--memory", "--key-file", file, "--log-level", "debug", "--servicebus", "--servicebus-key", strictKey,
		"--servicebus-port", "off", "--servicebus-admin-port", strconv.Itoa(b.plainAdmin), "--servicebus-tls-port", "off",
		"--servicebus-admin-tls-port", "off")
	a := &attackedServer{t: t, s: b.Server}
	with := func(headers ...string) []string { return append(headers, "Authorization", "Bearer "+own) }
	a.want(201, "POST", "dbs", `{"id":"d"}`, with()...)
	a.want(201, "POST", "dbs/d/colls", `{"id":"v","partitionKey":{"paths":["/pk"]}}`, with()...)
	a.want(201, "POST", "dbs/d/users", `{"id":"u"}`, with()...)
	var made struct {
		Token string `json:"_token"`
	}
	must(t, json.Unmarshal([]byte(a.want(201, "POST", "dbs/d/users/u/permissions",
		`{"id":"p","permissionMode":"All","resource":"dbs/d/colls/v"}`, with()...)), &made))
	a.does("GET", "dbs/d/colls/v/docs/1", "", append(key("x"), "Authorization", made.Token)...)
	a.does("GET", "dbs/d/colls/v/docs/1?authorization="+made.Token, "", key("x")...)
	a.does("GET", "dbs", "", "Authorization", "Bearer wrong-"+own)
	a.does("GET", "dbs?key="+own, "", "Cookie", "session="+own)
	busSecret := strings.TrimPrefix(strictKey, "root:Manage+Send+Listen:")
	sas := access.Sign(access.Key{Name: "root", Rights: access.All, Text: busSecret}, "http://localhost/", time.Now().Add(time.Hour))
	b.restAs(t, sas, "POST", "q/messages", "x")
	b.restAs(t, strings.Replace(sas, "sig=", "sig=x", 1), "POST", "q/messages", "x")
	_, signature, _ := strings.Cut(made.Token, "sig")
	_, busSignature, _ := strings.Cut(sas, "sig=")
	busSignature, _, _ = strings.Cut(busSignature, "&")
	shown := map[string]string{"the log": a.s.Output()}
	for _, path := range []string{"_mayfly/requests?limit=1000", "_mayfly/requests.har", "_mayfly/metrics", "_mayfly/openapi.json", "dbs", ""} {
		shown[path] = a.want(200, "GET", path, "", with()...)
	}
	for id := range 30 {
		path := fmt.Sprintf("_mayfly/requests/%d", id)
		_, shown[path] = a.does("GET", path, "", with()...)
	}
	for where, text := range shown {
		for what, secret := range map[string]string{"key": own, "signature": signature[4:24], "key of the bus": busSecret,
			"signature of the bus": busSignature} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s shows the %s: %s", where, what, text[max(0, at-300):min(len(text), at+100)])
			}
		}
	}
	if len(shown["_mayfly/requests?limit=1000"]) < 1000 {
		t.Error("the log of requests is empty")
	}
}

// TestAttackByFrames sends malformed, truncated and random frames of direct mode and of AMQP. Only the
// connections with these frames may be closed; other clients must still be served.
func TestAttackByFrames(t *testing.T) {
	port, err := FreePort()
	must(t, err)
	a := attacked(t, "--servicebus", "--servicebus-port", strconv.Itoa(port), "--servicebus-admin-port", "off",
		"--servicebus-tls-port", "off", "--servicebus-admin-tls-port", "off")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	spoiled := func(b []byte) []byte {
		b = bytes.Clone(b)
		switch rng.IntN(4) {
		case 0: // a length that lies
			at := rng.IntN(len(b) - 4)
			bits.BigEndian.PutUint32(b[at:], []uint32{0, 7, 1 << 16, 1<<31 - 1, 1<<32 - 1}[rng.IntN(5)])
		case 1:
			b = b[:rng.IntN(len(b))]
		default:
			for range 1 + rng.IntN(8) {
				b[rng.IntN(len(b))] = byte(rng.Uint32())
			}
		}
		return b
	}
	send := func(c net.Conn, pieces ...[]byte) {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
		for _, p := range pieces {
			_, _ = c.Write(p)
		}
		_, _ = io.CopyN(io.Discard, c, 512)
	}
	read := rntbdtest.Frame(3, 3, [16]byte{1}, nil, rntbdtest.Text(1, "Bearer "+EmulatorKey), rntbdtest.Text(0x15, "d"),
		rntbdtest.Text(0x16, "quiet"), rntbdtest.Text(0x17, "1"), rntbdtest.Text(0x2B, `["a"]`))
	header := frame.HeaderAMQP()
	messages := [][]byte{frame.Append(nil, 0, &frame.Open{ContainerID: "x", MaxFrameSize: 1 << 16}, nil),
		frame.Append(nil, 0, &frame.Begin{IncomingWindow: 50, OutgoingWindow: 50, HandleMax: 99}, nil),
		frame.Append(nil, 0, &frame.Attach{Name: "l", Target: &frame.Target{Address: "$cbs", HasAddress: true},
			Source: &frame.Source{Address: "me", HasAddress: true}, InitialDeliveryCount: frame.Some(0)}, nil),
		frame.Append(nil, 0, &frame.Transfer{DeliveryID: frame.Some(0), DeliveryTag: []byte{1}, MessageFormat: frame.Some(0)},
			bytes.Repeat([]byte{0xf0, 0xff, 0xff, 0xff, 0xff}, 200))}
	defer a.neighbour()()
	for range 60 * attackScale {
		send(a.dialDirect(), rntbdtest.Context(), spoiled(read))
		send(a.dialDirect(), spoiled(rntbdtest.Context()), read)
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		must(t, err)
		pieces := [][]byte{header[:]}
		at := rng.IntN(len(messages))
		for i, m := range messages {
			if i == at {
				m = spoiled(m)
			}
			pieces = append(pieces, m)
		}
		send(c, pieces...)
		noise := make([]byte, 200)
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		send(a.dial(), noise)
	}
	a.want(200, "GET", "dbs/d/colls/quiet/docs/1", "", key("a")...)
}
