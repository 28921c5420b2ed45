package httpapi

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

var certNow = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// makeCert returns the PEM text of the certificate to trust, and the server's.
func makeCert(t *testing.T, dir string, now time.Time, hosts ...string) ([]byte, *x509.Certificate) {
	t.Helper()
	cert, text, path, err := certificateAt(dir, hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "cert.pem"); dir != "" && path != want || dir == "" && path != "" {
		t.Errorf("path %q", path)
	}
	return text, cert.Leaf
}

func TestCertificate(t *testing.T) {
	text, leaf := makeCert(t, "", certNow, "db.example", "10.0.0.7", " Cosmos ")
	// rustls takes no certificate that may sign for a server's own: CaUsedAsEndEntity.
	if leaf.IsCA || leaf.NotAfter.Sub(leaf.NotBefore) >= 825*24*time.Hour {
		t.Errorf("CA %v, from %v to %v", leaf.IsCA, leaf.NotBefore, leaf.NotAfter)
	}
	block, rest := pem.Decode(text)
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !authority.IsCA || len(rest) != 0 || authority.Subject.String() == leaf.Subject.String() {
		t.Errorf("the certificate to trust: %v, CA %v, %v, then %q", err, authority.IsCA, authority.Subject, rest)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatal("the PEM text holds no certificate")
	}
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "db.example", "10.0.0.7", "cosmos"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host, CurrentTime: certNow}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if leaf.VerifyHostname("elsewhere.example") == nil {
		t.Error("the certificate covers a host that nobody asked for")
	}
}

func TestCertificateIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	original, _ := makeCert(t, dir, certNow, "db.example")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(dir, "key.pem"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("key file: %v, %v", info.Mode(), err)
		}
	}
	if again, _ := makeCert(t, dir, certNow.AddDate(2, 0, 0)); !bytes.Equal(again, original) {
		t.Error("the certificate was made again though it is good and covers what is asked for")
	}
	broader, leaf := makeCert(t, dir, certNow, "other.example")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(original)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "other.example", CurrentTime: certNow})
	if err != nil || !bytes.Equal(broader, original) {
		t.Errorf("a client that trusts the certificate does not trust the server with one more host: %v", err)
	}
	for name, now := range map[string]time.Time{"expired": certNow.AddDate(3, 0, 0), "about to expire": certNow.Add(certLife - certRenewal + time.Hour), "not valid yet": certNow.AddDate(-1, 0, 0)} {
		before, _ := makeCert(t, dir, certNow)
		if fresh, leaf := makeCert(t, dir, now); bytes.Equal(fresh, before) || leaf.NotAfter.Before(now.Add(certRenewal)) {
			t.Errorf("%s: not replaced", name)
		}
		for _, f := range []string{"cert.pem", "key.pem"} {
			if err := os.Remove(filepath.Join(dir, f)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDamagedCertificateIsReplaced(t *testing.T) {
	for _, damage := range []string{"cert.pem", "key.pem"} {
		dir := t.TempDir()
		before, _ := makeCert(t, dir, certNow)
		if err := os.WriteFile(filepath.Join(dir, damage), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		if after, _ := makeCert(t, dir, certNow); bytes.Equal(before, after) {
			t.Errorf("%s: not replaced", damage)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 2 {
			t.Errorf("%s: %v, %v: temporary files are left", damage, left, err)
		}
	}
}

func TestCertificateFailures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Certificate(filepath.Join(file, "tls"), nil); err == nil {
		t.Error("a folder inside a file was made")
	}
	if _, _, _, err := Certificate("", []string{"bad\x00host\xff"}); err == nil {
		t.Error("a host name that no certificate can hold was accepted")
	}
}
