package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// fed runs a command of mayfly against the server with input as its standard input, and returns its
// standard output.
func (b *mayflyServerUnderTest) fed(t *testing.T, input string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	args = append(args, "--url", "http://"+b.host)
	if code := executeFrom(t.Context(), strings.NewReader(input), args, &out, &errs); code != 0 {
		t.Fatalf("%v: %d %s", args, code, errs.String())
	}
	return out.String()
}

// TestStandardInput checks that commands read a query or the text of a message from the standard input if
// the argument is "-".
func TestStandardInput(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	b.makeContainer(t)
	at := []string{"-", "--db", "db", "--container", "c"}
	out := b.fed(t, "SELECT VALUE\nCOUNT(1) FROM c\n", append([]string{"query", "--ndjson"}, at...)...)
	if out != "0\n" {
		t.Error(out)
	}
	out = b.fed(t, "SELECT * FROM c", append([]string{"explain"}, at...)...)
	if !strings.Contains(out, "scan") {
		t.Error(out)
	}
	b.run(t, "queue", "create", "q")
	b.fed(t, "two\nlamps", "queue", "send", "q", "-")
	if out, _ := b.run(t, "queue", "receive", "q", "--json"); !strings.Contains(out, `"text": "two\nlamps"`) {
		t.Error(out)
	}
}

// TestInvalidServerURL checks the error messages of commands whose --url is not that of a usable Mayfly
// server (wrong scheme, another program, wrong key): each says what to do.
func TestInvalidServerURL(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	browsers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html><h1>Bad gateway</h1></html>"))
	}))
	defer browsers.Close()
	for _, c := range []struct {
		url, key, want string
	}{
		{"https://" + b.host, "", "http://" + b.host + " needs none, and `mayfly cert trust` tells how"},
		{strings.Replace(page.URL, "http:", "https:", 1), "",
			"does not answer in TLS: is it " + page.URL + "?"},
		{browsers.URL, "", "502 Bad Gateway: a page for browsers, which no Mayfly server would send"},
		{"http://" + b.host, "AAAA", "--key or MAYFLY_KEY gives the key that the server was started with"},
	} {
		args := []string{"databases", "list", "--url", c.url}
		if c.key != "" {
			args = append(args, "--key", c.key)
		}
		code, _, errs := mayfly(t, args...)
		if code != exitFailed || !strings.Contains(errs, c.want) || strings.Contains(errs, "<h1>") {
			t.Errorf("%s: %d %s", c.url, code, errs)
		}
	}
	if _, out, _ := mayfly(t, "doctor", "--url", "http://"+b.host+"/_explorer/"); !strings.Contains(out,
		"give the --url without the path: http://"+b.host+"\n") {
		t.Error(out)
	}
}
