package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCert checks the commands about certificates: a client that trusts the file written by `mayfly cert
// export` accepts the server's certificate, and `mayfly cert show` describes that certificate.
func TestCert(t *testing.T) {
	t.Parallel()
	b := boot(t, "--memory")
	file := filepath.Join(t.TempDir(), "mayfly.pem")
	for _, url := range []string{"http://" + b.host, "https://" + b.host} {
		if code, out, errs := mayfly(t, "cert", "export", "--to", file, "--url", url); code != 0 ||
			out != "" {
			t.Fatalf("export from %s: %d %s%s", url, code, out, errs)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs := mayfly(t, "cert", "export", "--url", "http://"+b.host); code != 0 ||
		out != string(text) {
		t.Errorf("export: %d %s%s", code, out, errs)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("no certificate: %s", text)
	}
	conn, err := tls.Dial("tcp", b.host, &tls.Config{RootCAs: roots, ServerName: "localhost"})
	if err != nil {
		t.Fatalf("with the certificate exported: %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	code, out, errs := mayfly(t, "cert", "show", "--url", "http://"+b.host)
	for _, want := range []string{"subject ", "localhost", "valid ", "sha256 "} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("show: no %q: %d %s%s", want, code, out, errs)
		}
	}
	alien := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("hello")) // the client finds out
	}))
	defer alien.Close()
	if code, _, errs := mayfly(t, "cert", "show", "--url", alien.URL); code != exitFailed ||
		!strings.Contains(errs, "something else than a Mayfly server") {
		t.Errorf("of another server: %d %s", code, errs)
	}
}

func TestCertTrust(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 0, "\nwindows "},
		{"javascript --file x.pem", 0, "first       mayfly cert export --to x.pem\n" +
			"javascript  NODE_EXTRA_CA_CERTS=x.pem\n"},
		{"python --file x.pem", 0, "\npython      REQUESTS_CA_BUNDLE=x.pem, for azure.cosmos.aio SSL_CERT_FILE=x.pem; "},
		{"--json curl", 0, `"how": "curl --cacert mayfly.pem"`},
		{"cobol", exitUsage, ""},
	} {
		code, out, errs := mayfly(t, append([]string{"cert", "trust"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%q: %d %s%s", c.args, code, out, errs)
		}
	}
}
