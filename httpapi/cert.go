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
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// Certificates are valid for less than the 825 days that Apple's systems accept. They are replaced when less
// than a month is left.
const (
	certLife    = 800 * 24 * time.Hour
	certRenewal = 30 * 24 * time.Hour
	certFile    = "cert.pem"
	keyFile     = "key.pem"
)

// Certificate returns the server's certificate and, as PEM text, the certificate of the authority that
// signed it. Clients must trust the authority. Both are ECDSA P-256. Two certificates are needed because
// OpenSSL, Java's keytool and Node trust only certificates that may sign (CA:true), while rustls rejects
// those as server certificates.
//
// The server's certificate is made at each start. It is valid for localhost, 127.0.0.1, ::1, the machine's
// name and hosts (names or IP addresses), and expires together with the authority. The authority is made
// once and kept in dir as cert.pem and key.pem, readable only by their owner. Its name constraints permit
// only the names and addresses of the server and subdomains of those names, so that a stolen key cannot
// impersonate other hosts.
//
// A new authority is made, which clients then must trust, if the old one is about to expire, cannot be read,
// has no constraints, or does not cover one of hosts. The new authority also covers the hosts of the old
// one. If only the machine's name has changed, the authority is kept, and the server's certificate omits
// that name. If dir is empty, both certificates exist in memory only, and path is empty.
//
// shared is the place where several servers keep a common authority. It is nil if there is only one server.
// A common authority has precedence over the one in dir, which is replaced by a copy of it. If there is no
// common authority yet, the one in dir becomes the common authority.
func Certificate(dir string, hosts []string, shared UpdateSharedCertAuthorityFunc) (cert tls.Certificate,
	pemText []byte,
	path string, err error) {
	return certificateAt(dir, hosts, shared, ttl.SystemClock{}.Now())
}

// UpdateSharedCertAuthorityFunc reads and replaces the authority that several servers have in common. It
// calls fn with the stored certificate and key as PEM text, or nil if there are none, and stores the result
// of fn unless that is nil. It may call fn more than once; the last call counts.
type UpdateSharedCertAuthorityFunc func(fn func(stored []byte) ([]byte, error)) error

func certificateAt(dir string, hosts []string, shared UpdateSharedCertAuthorityFunc,
	now time.Time) (cert tls.Certificate,
	pemText []byte, path string, err error) {
	a, path, err := authorityAt(dir, hosts, shared, now)
	if err != nil {
		return cert, nil, "", err
	}
	covered := slices.DeleteFunc(allHosts(hosts), func(h string) bool { return !permits(a.Leaf, h) })
	if cert, err = serverCertificate(a.Certificate, covered, now); err != nil {
		return cert, nil, "", err
	}
	return cert, a.pem, path, nil
}

// certAuthority is the certificate authority that signs the server's certificates, with its private key.
type certAuthority struct {
	tls.Certificate
	pem, key []byte // as PEM text
}

// authorityAt returns the certificate authority for hosts: the one that several servers share, if shared is
// not nil, otherwise the one that is stored in dir. If there is none, or it must be renewed, authorityAt
// makes a new one. It stores a new one in dir, unless dir is empty. path is the path of the certificate's
// file.
func authorityAt(dir string, hosts []string, shared UpdateSharedCertAuthorityFunc,
	now time.Time) (a *certAuthority,
	path string, err error) {
	var stored *certAuthority
	if dir != "" {
		path = filepath.Join(dir, certFile)
		if err := keepPrivate(dir); err != nil {
			return nil, "", err
		}
		stored = loadAuthority(dir, now)
	}
	if shared == nil {
		a, err = stored.renewed(hosts, now)
	} else {
		err = shared(func(text []byte) (changed []byte, err error) {
			was := parseAuthority(text, text, now)
			if a = was; was == nil {
				was = stored
			}
			renewed, err := was.renewed(hosts, now)
			if err != nil || renewed == a {
				return nil, err
			}
			a = renewed
			return slices.Concat(a.pem, a.key), nil
		})
	}
	if err != nil || dir == "" || stored != nil && bytes.Equal(stored.pem, a.pem) {
		return a, path, err
	}
	return a, path, a.store(dir)
}

// renewed returns the authority if it covers hosts. Otherwise it returns a new one that covers its hosts and
// those given. The receiver may be nil.
func (a *certAuthority) renewed(hosts []string, now time.Time) (*certAuthority, error) {
	names := allHosts(hosts)
	if a != nil {
		if !slices.ContainsFunc(ownHosts(hosts), func(h string) bool { return !permits(a.Leaf, h) }) {
			return a, nil
		}
		names = allHosts(append(permitted(a.Leaf), names...))
	}
	pemText, keyText, err := makeAuthority(names, now)
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(pemText, keyText)
	if err != nil {
		return nil, fmt.Errorf("httpapi: the new certificate does not fit its key: %w", err)
	}
	return &certAuthority{cert, pemText, keyText}, nil
}

// store writes the authority into dir.
func (a *certAuthority) store(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("httpapi: cannot make the folder of the certificate: %w", err)
	}
	// Write the key first. If the process ends before the certificate is written, the two do not match, and
	// a new authority is made.
	if err := replaceFile(filepath.Join(dir, keyFile), a.key); err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, certFile), a.pem)
}

// keepPrivate removes the permissions of group and others from an existing certificate folder and its files.
// Files that belong to another user, as on a mounted volume, stay as they are.
func keepPrivate(dir string) error {
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, keyFile): 0o600,
		filepath.Join(dir, certFile): 0o600} {
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path, mode)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) &&
			!errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("httpapi: cannot keep the certificate's key from others: %w", err)
		}
	}
	return nil
}

// ownHosts returns localhost, 127.0.0.1, ::1 and hosts, in lower case and without duplicates.
func ownHosts(hosts []string) (all []string) {
	for _, h := range append([]string{"localhost", "127.0.0.1", "::1"}, hosts...) {
		if h = strings.ToLower(strings.TrimSpace(h)); h != "" && !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}

// allHosts returns the names for which the certificate is made: localhost, 127.0.0.1, ::1, hosts and the
// machine's name, in lower case and without duplicates.
func allHosts(hosts []string) []string {
	name, err := os.Hostname()
	if err != nil { // the machine's name is optional
		return ownHosts(hosts)
	}
	return ownHosts(append(slices.Clone(hosts), name))
}

// permits reports whether a certificate's name constraints let it sign for a host.
func permits(authority *x509.Certificate, host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return slices.ContainsFunc(authority.PermittedIPRanges,
			func(n *net.IPNet) bool { return n.Contains(ip) })
	}
	host = strings.TrimPrefix(host, "*.")
	return slices.ContainsFunc(authority.PermittedDNSDomains,
		func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) })
}

// permitted returns the hosts in a certificate's name constraints.
func permitted(authority *x509.Certificate) (hosts []string) {
	hosts = slices.Clone(authority.PermittedDNSDomains)
	for _, n := range authority.PermittedIPRanges {
		hosts = append(hosts, n.IP.String())
	}
	return hosts
}

// loadAuthority reads the certificate authority from dir. It returns nil if a new one must be made.
func loadAuthority(dir string, now time.Time) *certAuthority {
	pemText, err := os.ReadFile(filepath.Join(dir, certFile))
	if err != nil {
		return nil
	}
	keyText, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return nil
	}
	return parseAuthority(pemText, keyText, now)
}

// parseAuthority returns the authority from the texts of its certificate and its key, which may be the same
// text. It returns nil if a new one must be made.
func parseAuthority(certText, keyText []byte, now time.Time) *certAuthority {
	cert, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return nil
	}
	c := cert.Leaf
	if !c.IsCA || len(c.PermittedDNSDomains) == 0 || len(c.PermittedIPRanges) == 0 {
		return nil
	}
	if now.Before(c.NotBefore) || now.Add(certRenewal).After(c.NotAfter) {
		return nil
	}
	return &certAuthority{cert, block("CERTIFICATE", certText), block("PRIVATE KEY", keyText)}
}

// block returns the first block of a kind in PEM text.
func block(kind string, text []byte) []byte {
	for {
		b, rest := pem.Decode(text)
		switch {
		case b == nil:
			return nil
		case b.Type == kind:
			return pem.EncodeToMemory(b)
		}
		text = rest
	}
}

// makeAuthority makes an authority certificate that may sign for hosts, and its key, both as PEM text.
func makeAuthority(hosts []string, now time.Time) (certText, keyText []byte, err error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Mayfly", Organization: []string{"Mayfly"}},
		NotBefore:             now.Add(-time.Hour), // accepted by clients whose clock is slow
		NotAfter:              now.Add(certLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		MaxPathLenZero:        true,

		PermittedDNSDomainsCritical: true,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.PermittedIPRanges = append(template.PermittedIPRanges, hostNetwork(ip))
		} else if h = strings.TrimPrefix(h, "*."); !slices.Contains(template.PermittedDNSDomains, h) {
			template.PermittedDNSDomains = append(template.PermittedDNSDomains, h)
		}
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

// hostNetwork returns the network that consists of one address.
func hostNetwork(ip net.IP) *net.IPNet {
	if four := ip.To4(); four != nil {
		ip = four
	}
	return &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))}
}

// serverCertificate makes a certificate for hosts, signed by authority. The authority follows it in the
// chain.
func serverCertificate(authority tls.Certificate, hosts []string,
	now time.Time) (cert tls.Certificate, err error) {
	template := &x509.Certificate{
		// must differ from the authority's subject
		Subject:               pkix.Name{CommonName: hosts[0], Organization: []string{"Mayfly server"}},
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
		return cert, fmt.Errorf("httpapi: the new certificate for %s cannot be read: %w",
			strings.Join(hosts, ", "), err)
	}
	return tls.Certificate{Certificate: [][]byte{raw, authority.Certificate[0]}, PrivateKey: key,
		Leaf: leaf}, nil
}

// sign makes a key and a certificate for it. The certificate is signed by authority, or by itself if that is
// nil.
func sign(template *x509.Certificate,
	authority *tls.Certificate) (raw []byte, key *ecdsa.PrivateKey, err error) {
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
	_ = pem.Encode(&b, &pem.Block{Type: kind, Bytes: raw}) // writes to a buffer do not fail
	return b.Bytes()
}

// replaceFile atomically writes a file that only its owner can read.
func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("httpapi: cannot write the certificate: %w", err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o600)
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
