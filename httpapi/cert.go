package httpapi

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// A certificate lives for less than the 825 days that Apple's systems accept, and is replaced while it still has a month.
const (
	certLife    = 800 * 24 * time.Hour
	certRenewal = 30 * 24 * time.Hour
	certFile    = "cert.pem"
	keyFile     = "key.pem"
)

// Certificate returns the server's self-signed certificate: ECDSA P-256, valid for localhost, 127.0.0.1, ::1, the
// machine's name and hosts (names or IP addresses). It is made once and kept in dir as cert.pem and key.pem, so
// that clients may trust it; it is made again when it is about to expire, does not cover a host asked for, or
// cannot be read. It may sign itself (CA:true), which Java's keytool and Node want of a certificate to
// trust. An empty dir keeps it in memory only, and path is empty.
func Certificate(dir string, hosts []string) (cert tls.Certificate, pemText []byte, path string, err error) {
	return certificateAt(dir, hosts, ttl.Real{}.Now())
}

func certificateAt(dir string, hosts []string, now time.Time) (cert tls.Certificate, pemText []byte, path string, err error) {
	hosts = allHosts(hosts)
	if dir != "" {
		path = filepath.Join(dir, certFile)
		if cert, pemText, ok := loadCertificate(dir, hosts, now); ok {
			return cert, pemText, path, nil
		}
	}
	pemText, keyText, err := makeCertificate(hosts, now)
	if err != nil {
		return cert, nil, "", err
	}
	if cert, err = tls.X509KeyPair(pemText, keyText); err != nil {
		return cert, nil, "", fmt.Errorf("httpapi: the new certificate does not fit its key: %w", err)
	}
	if dir == "" {
		return cert, pemText, "", nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cert, nil, "", fmt.Errorf("httpapi: cannot make the folder of the certificate: %w", err)
	}
	// The key first: a new key beside an old certificate does not fit, and the pair is made again.
	if err := replaceFile(filepath.Join(dir, keyFile), keyText, 0o600); err != nil {
		return cert, nil, "", err
	}
	if err := replaceFile(path, pemText, 0o644); err != nil {
		return cert, nil, "", err
	}
	return cert, pemText, path, nil
}

// allHosts are the names that every certificate has and those asked for, each once.
func allHosts(hosts []string) []string {
	all := []string{"localhost", "127.0.0.1", "::1"}
	if name, err := os.Hostname(); err == nil { // a machine without a name is fine
		all = append(all, name)
	}
	var out []string
	for _, h := range append(all, hosts...) {
		if h = strings.ToLower(strings.TrimSpace(h)); h != "" && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// loadCertificate reads the pair of dir; ok is false where it must be made again.
func loadCertificate(dir string, hosts []string, now time.Time) (cert tls.Certificate, pemText []byte, ok bool) {
	pemText, err := os.ReadFile(filepath.Join(dir, certFile))
	if err != nil {
		return cert, nil, false
	}
	keyText, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return cert, nil, false
	}
	if cert, err = tls.X509KeyPair(pemText, keyText); err != nil {
		return cert, nil, false
	}
	leaf := cert.Leaf
	if now.Before(leaf.NotBefore) || now.Add(certRenewal).After(leaf.NotAfter) {
		return cert, nil, false
	}
	for _, h := range hosts {
		if leaf.VerifyHostname(h) != nil {
			return cert, nil, false
		}
	}
	return cert, pemText, true
}

// makeCertificate makes a certificate and its key as PEM text.
func makeCertificate(hosts []string, now time.Time) (certText, keyText []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("httpapi: cannot make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, fmt.Errorf("httpapi: cannot make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "localhost", Organization: []string{"Mayfly"}},
		NotBefore:             now.Add(-time.Hour), // clients' clocks may be a little behind
		NotAfter:              now.Add(certLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, fmt.Errorf("httpapi: cannot make a certificate for %s: %w", strings.Join(hosts, ", "), err)
	}
	keyRaw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("httpapi: cannot encode the key: %w", err)
	}
	return pemBlock("CERTIFICATE", raw), pemBlock("PRIVATE KEY", keyRaw), nil
}

func pemBlock(kind string, raw []byte) []byte {
	var b bytes.Buffer
	_ = pem.Encode(&b, &pem.Block{Type: kind, Bytes: raw}) // a buffer does not fail
	return b.Bytes()
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, text []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("httpapi: cannot write the certificate: %w", err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("httpapi: cannot write the certificate: %w", err)
	}
	return nil
}
