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

// Certificate returns the server's certificate, and as PEM text the one that clients are to trust, which has signed
// it. Both are ECDSA P-256. They are two because OpenSSL, Java's keytool and Node want a certificate to trust that may
// sign (CA:true), while rustls takes none that may sign for a server's own.
//
// The one to trust is made once and kept in dir as cert.pem and key.pem; it is made again when it is about to expire
// or cannot be read. The server's is made at each start: valid for localhost, 127.0.0.1, ::1, the machine's name and
// hosts (names or IP addresses), for as long as the other. An empty dir keeps both in memory only, and path is empty.
func Certificate(dir string, hosts []string) (cert tls.Certificate, pemText []byte, path string, err error) {
	return certificateAt(dir, hosts, ttl.Real{}.Now())
}

func certificateAt(dir string, hosts []string, now time.Time) (cert tls.Certificate, pemText []byte, path string, err error) {
	authority, pemText, path, err := authorityAt(dir, now)
	if err != nil {
		return cert, nil, "", err
	}
	if cert, err = serverCertificate(authority, allHosts(hosts), now); err != nil {
		return cert, nil, "", err
	}
	return cert, pemText, path, nil
}

// authorityAt returns the certificate to trust: that of dir, else a new one, kept there unless dir is empty.
func authorityAt(dir string, now time.Time) (authority tls.Certificate, pemText []byte, path string, err error) {
	if dir != "" {
		path = filepath.Join(dir, certFile)
		if authority, pemText, ok := loadAuthority(dir, now); ok {
			return authority, pemText, path, nil
		}
	}
	pemText, keyText, err := makeAuthority(now)
	if err != nil {
		return authority, nil, "", err
	}
	if authority, err = tls.X509KeyPair(pemText, keyText); err != nil {
		return authority, nil, "", fmt.Errorf("httpapi: the new certificate does not fit its key: %w", err)
	}
	if dir == "" {
		return authority, pemText, "", nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return authority, nil, "", fmt.Errorf("httpapi: cannot make the folder of the certificate: %w", err)
	}
	// The key first: a new key beside an old certificate does not fit, and the pair is made again.
	if err := replaceFile(filepath.Join(dir, keyFile), keyText, 0o600); err != nil {
		return authority, nil, "", err
	}
	if err := replaceFile(path, pemText, 0o644); err != nil {
		return authority, nil, "", err
	}
	return authority, pemText, path, nil
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

// loadAuthority reads the pair of dir; ok is false where it must be made again.
func loadAuthority(dir string, now time.Time) (authority tls.Certificate, pemText []byte, ok bool) {
	pemText, err := os.ReadFile(filepath.Join(dir, certFile))
	if err != nil {
		return authority, nil, false
	}
	keyText, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return authority, nil, false
	}
	if authority, err = tls.X509KeyPair(pemText, keyText); err != nil {
		return authority, nil, false
	}
	c := authority.Leaf
	if !c.IsCA || now.Before(c.NotBefore) || now.Add(certRenewal).After(c.NotAfter) {
		return authority, nil, false
	}
	return authority, pemText, true
}

// makeAuthority makes a certificate to trust and its key as PEM text.
func makeAuthority(now time.Time) (certText, keyText []byte, err error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Mayfly", Organization: []string{"Mayfly"}},
		NotBefore:             now.Add(-time.Hour), // clients' clocks may be a little behind
		NotAfter:              now.Add(certLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, key, err := sign(template, nil)
	if err != nil {
		return nil, nil, err
	}
	keyRaw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("httpapi: cannot encode the key: %w", err)
	}
	return pemBlock("CERTIFICATE", raw), pemBlock("PRIVATE KEY", keyRaw), nil
}

// serverCertificate makes a certificate for hosts that authority signs, with that one after it.
func serverCertificate(authority tls.Certificate, hosts []string, now time.Time) (cert tls.Certificate, err error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: hosts[0], Organization: []string{"Mayfly server"}}, // not the authority's
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              authority.Leaf.NotAfter,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	raw, key, err := sign(template, &authority)
	if err != nil {
		return cert, err
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		return cert, fmt.Errorf("httpapi: the new certificate for %s cannot be read: %w", strings.Join(hosts, ", "), err)
	}
	return tls.Certificate{Certificate: [][]byte{raw, authority.Certificate[0]}, PrivateKey: key, Leaf: leaf}, nil
}

// sign makes a key and a certificate for it, signed by authority, or by itself where that is nil.
func sign(template *x509.Certificate, authority *tls.Certificate) (raw []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, fmt.Errorf("httpapi: cannot make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, nil, fmt.Errorf("httpapi: cannot make a serial number: %w", err)
	}
	parent, by := template, any(key)
	if authority != nil {
		parent, by = authority.Leaf, authority.PrivateKey
	}
	if raw, err = x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by); err != nil {
		return nil, nil, fmt.Errorf("httpapi: cannot make a certificate: %w", err)
	}
	return raw, key, nil
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
