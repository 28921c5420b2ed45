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

// makeCert calls certificateAt and returns the PEM text of the authority, which clients must trust, and
// the server's certificate.
func makeCert(t *testing.T, dir string, now time.Time, hosts ...string) ([]byte, *x509.Certificate) {
	t.Helper()
	cert, text, path, err := certificateAt(dir, hosts, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "cert.pem"); dir != "" && path != want || dir == "" && path != "" {
		t.Errorf("path %q", path)
	}
	return text, cert.Leaf
}

func TestCertificate(t *testing.T) {
	t.Parallel()
	text, leaf := makeCert(t, "", certNow, "db.example", "10.0.0.7", " Cosmos ")
	// rustls takes no certificate that may sign for a server's own: CaUsedAsEndEntity.
	if leaf.IsCA || leaf.NotAfter.Sub(leaf.NotBefore) >= 825*24*time.Hour {
		t.Errorf("CA %v, from %v to %v", leaf.IsCA, leaf.NotBefore, leaf.NotAfter)
	}
	block, rest := pem.Decode(text)
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !authority.IsCA || len(rest) != 0 ||
		authority.Subject.String() == leaf.Subject.String() {
		t.Errorf("the certificate to trust: %v, CA %v, %v, then %q", err, authority.IsCA, authority.Subject,
			rest)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatal("the PEM text holds no certificate")
	}
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "db.example", "10.0.0.7", "cosmos"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host,
			CurrentTime: certNow}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if leaf.VerifyHostname("elsewhere.example") == nil {
		t.Error("the certificate covers a host that nobody asked for")
	}
}

func TestCertificateIsKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tls")
	original, _ := makeCert(t, dir, certNow, "db.example")
	if again, _ := makeCert(t, dir, certNow.AddDate(2, 0, 0)); !bytes.Equal(again, original) {
		t.Error("the certificate was made again though it is good and covers what is asked for")
	}
	if again, leaf := makeCert(t, dir, certNow, "DB.example", "sub.db.example"); !bytes.Equal(again,
		original) || !verifies(original, leaf, "sub.db.example") {
		t.Error("the certificate was made again though it covers what is asked for")
	}
	// Another host needs another one, which goes on covering the first.
	broader, leaf := makeCert(t, dir, certNow, "other.example", "10.0.0.7")
	if bytes.Equal(broader, original) || !verifies(broader, leaf, "other.example") ||
		!verifies(broader, leaf, "10.0.0.7") {
		t.Error("a host that the certificate does not cover")
	}
	if again, leaf := makeCert(t, dir, certNow, "db.example"); !bytes.Equal(again, broader) ||
		!verifies(broader, leaf, "db.example") {
		t.Error("two starts in turn with one host each do not keep the certificate")
	}
	for name, now := range map[string]time.Time{"expired": certNow.AddDate(3, 0, 0),
		"about to expire": certNow.Add(certLife - certRenewal +
			time.Hour), "not valid yet": certNow.AddDate(-1, 0, 0)} {
		before, _ := makeCert(t, dir, certNow)
		if fresh, leaf := makeCert(t, dir, now); bytes.Equal(fresh, before) ||
			leaf.NotAfter.Before(now.Add(certRenewal)) {
			t.Errorf("%s: not replaced", name)
		}
		for _, f := range []string{"cert.pem", "key.pem"} {
			if err := os.Remove(filepath.Join(dir, f)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// verifies reports whether a client that trusts the authority in trusted accepts leaf as the server
// certificate of host.
func verifies(trusted []byte, leaf *x509.Certificate, host string) bool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(trusted)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host, CurrentTime: certNow})
	return err == nil
}

// TestNameConstraints checks the name constraints of the certificate authority: clients reject
// certificates that it signs for names and addresses other than the server's.
func TestNameConstraints(t *testing.T) {
	t.Parallel()
	authority, _, err := authorityAt("", []string{"db.example", "*.dev.example", "10.0.0.7",
		"2001:db8::1"}, nil, certNow)
	if err != nil || !authority.Leaf.PermittedDNSDomainsCritical || !authority.Leaf.MaxPathLenZero {
		t.Fatalf("%v: %+v", err, authority.Leaf)
	}
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true,
		"db.example": true, "a.db.example": true, "a.dev.example": true,
		"10.0.0.7": true, "2001:db8::1": true, "evil.example": false, "xdb.example": false, "example": false, "10.0.0.8": false, "127.0.0.2": false, "2001:db8::2": false} {
		forged, err := serverCertificate(authority.Certificate, []string{host}, certNow)
		if err != nil {
			t.Fatal(err)
		}
		got := verifies(authority.pem, forged.Leaf, host)
		if got != want || permits(authority.Leaf, host) != want {
			t.Errorf("%s: a client takes it: %v", host, got)
		}
	}
}

// TestAuthorityWithoutNameConstraints checks that a stored authority without name constraints, as earlier
// versions made it, is replaced by a new one.
func TestAuthorityWithoutNameConstraints(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	unbound, key, err := makeAuthority(nil, certNow)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"cert.pem": unbound, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, leaf := makeCert(t, dir, certNow); bytes.Equal(text, unbound) ||
		!verifies(text, leaf, "localhost") {
		t.Error("not replaced")
	}
}

// TestPrivateFiles checks that only their owner can access the certificate folder and its files. Wider
// permissions of existing files are removed.
func TestPrivateFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := filepath.Join(t.TempDir(), "tls")
	want := map[string]os.FileMode{".": 0o700, "key.pem": 0o600, "cert.pem": 0o600}
	original, _ := makeCert(t, dir, certNow)
	for range 2 {
		for name, mode := range want {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
			if err := os.Chmod(filepath.Join(dir, name), mode|0o055); err != nil {
				t.Fatal(err)
			}
		}
		if again, _ := makeCert(t, dir, certNow); !bytes.Equal(again, original) {
			t.Error("the certificate was made again")
		}
	}
}

func TestDamagedCertificateIsReplaced(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Certificate(filepath.Join(file, "tls"), nil, nil); err == nil {
		t.Error("a folder inside a file was made")
	}
	if _, _, _, err := Certificate("", []string{"bad\x00host\xff"}, nil); err == nil {
		t.Error("a host name that no certificate can hold was accepted")
	}
}

// TestSharedAuthority checks that servers with a shared authority all use it, whatever authority their
// folders have. The authority of the first server becomes the shared one. A host that one server adds is
// covered for all.
func TestSharedAuthority(t *testing.T) {
	var stored []byte
	changes := 0
	shared := func(fn func([]byte) ([]byte, error)) error {
		for range 2 { // it runs more than once
			changed, err := fn(stored)
			if err != nil {
				return err
			}
			if changed != nil {
				stored, changes = changed, changes+1
			}
		}
		return nil
	}
	make := func(dir string, hosts ...string) []byte {
		t.Helper()
		cert, text, _, err := certificateAt(dir, hosts, shared, certNow)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range append(hosts, "localhost") {
			if !verifies(text, cert.Leaf, host) {
				t.Errorf("a client does not take it for %s", host)
			}
		}
		if bytes.Contains(text, []byte("KEY")) {
			t.Errorf("the text for clients has a key: %s", text)
		}
		return text
	}
	a, b := t.TempDir(), t.TempDir()
	own, _ := makeCert(t, a, certNow)
	makeCert(t, b, certNow)
	for range 2 {
		if !bytes.Equal(make(a), own) || !bytes.Equal(make(b), own) || !bytes.Equal(make(""), own) {
			t.Error("the servers have several authorities")
		}
	}
	if changes != 1 {
		t.Errorf("the authority was stored %d times", changes)
	}
	both := make(b, "db.example")
	if !bytes.Equal(make(a), both) || bytes.Equal(both, own) {
		t.Error("a further name is not that of all servers")
	}
	if text, _ := makeCert(t, a, certNow); !bytes.Equal(text, both) {
		t.Error("the folder has no copy of the shared authority")
	}
}
