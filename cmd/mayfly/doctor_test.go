package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDoctor checks that `mayfly doctor` finds each cause for which a client cannot connect to a server,
// in the check for that cause, and prints a remedy.
func TestDoctor(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY",
		"all_proxy"} {
		t.Setenv(name, "")
	}
	b := boot(t, "--memory")
	alien := httptest.NewServer(http.NotFoundHandler())
	defer alien.Close()
	free := httptest.NewServer(nil)
	nobody := free.URL
	free.Close()
	_, port, _ := strings.Cut(b.host, ":")
	for _, c := range []struct {
		name, args string
		code       int
		want       []string
	}{
		{"well", "--url http://" + b.host, 0, []string{"ok    proxy", "ok    port", "ok    host", "ok    key",
			"ok    tls    TLS 1.3, ALPN h2", "warn  trust", "mayfly cert trust"}},
		{"by https", "--url https://" + b.host, 0, []string{"ok    host", "ok    key"}},
		{"another key", "--key AAAA --url http://" + b.host, exitFailed,
			[]string{"fail  key    the server has another key"}},
		{"no key", "--key ? --url http://" + b.host, exitFailed, []string{"fail  key", "base64"}},
		{"nobody", "--url " + nobody, exitFailed, []string{"fail  port", "mayfly serve"}},
		{"another program", "--url " + alien.URL, exitFailed, []string{"fail  host", "404", "fail  tls"}},
		{"json", "--json --url http://127.0.0.1:" + port, 0, []string{`"check": "port"`, `"state": "ok"`}},
		{"no URL", "--url localhost", exitUsage, nil},
	} {
		code, out, errs := mayfly(t, append([]string{"doctor"}, strings.Fields(c.args)...)...)
		if code != c.code {
			t.Errorf("%s: code %d: %s%s", c.name, code, out, errs)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s%s", c.name, want, out, errs)
			}
		}
	}
}

// TestDoctorProxyWarning checks that `mayfly doctor` warns of a proxy in the environment, unless NO_PROXY
// exempts the server's host from it.
func TestDoctorProxyWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ proxy, except, state string }{
		{"", "", findingOK},
		{"http://p:1", "", findingWarn},
		{"http://p:1", "example.org", findingWarn},
		{"http://p:1", "example.org, localhost", findingOK},
		{"http://p:1", "*", findingOK},
	} {
		set := map[string]string{"http_proxy": c.proxy, "NO_PROXY": c.except}
		f := checkProxy("localhost", func(name string) (string, bool) { v, ok := set[name]; return v, ok })
		if f.State != c.state || (f.Remedy == "") != (c.state == findingOK) {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}
