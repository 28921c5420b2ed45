package sdktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// roundRobinProxy passes HTTP requests on to servers in turn. It distributes single requests and not
// connections, since a client sends most of its requests over one connection, which would all go to one
// server.
//
// Clients in direct mode connect to the servers themselves. The proxy gives each range replicas on all
// servers, from the addresses that each server returns for itself. The primary replica, which gets the
// writes, is on another server each time.
type roundRobinProxy struct {
	port      int // that clients use
	scheme    string
	servers   []*Server
	transport *http.Transport
	next      atomic.Int64
	served    []atomic.Int64 // requests of each server
}

// takeTurns starts an HTTP proxy that sends requests to the servers in turn, and stops it when the test ends.
// If scheme is https, the proxy has a certificate of the servers' common authority, and trusts that authority
// alone.
func takeTurns(t *testing.T, scheme string, servers ...*Server) *roundRobinProxy {
	t.Helper()
	p := &roundRobinProxy{scheme: scheme, servers: servers, served: make([]atomic.Int64, len(servers)),
		transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	pass := &httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			i := int(p.next.Add(1)) % len(servers)
			p.served[i].Add(1)
			r.Out.URL.Scheme, r.Out.URL.Host = scheme, at(servers[i].Port)
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // the client loses its connection, as it would without the proxy
		},
	}
	front := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Trim(r.URL.Path, "/") == "addresses" {
			p.addresses(w, r)
		} else {
			pass.ServeHTTP(w, r)
		}
	})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p.port = ln.Addr().(*net.TCPAddr).Port
	serve := front.Serve
	if scheme == "https" {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(get(t, servers[0].URL("http")+"_mayfly/cert.pem"))
		p.transport.TLSClientConfig = &tls.Config{RootCAs: pool}
		front.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificateBy(t, servers[0])}}
		serve = func(ln net.Listener) error { return front.ServeTLS(ln, "", "") }
	}
	done := make(chan error, 1)
	go func() { done <- serve(ln) }()
	t.Cleanup(func() {
		front.Close()
		<-done
		p.transport.CloseIdleConnections()
	})
	return p
}

// replicaAddresses is the response to a request for the addresses of ranges.
type replicaAddresses struct {
	RID       string            `json:"_rid"`
	Addresses []json.RawMessage `json:"Addresss"`
	Count     int               `json:"_count"`
}

// addresses answers a request for the addresses of replicas. It asks every server for its own addresses, and
// takes each address of the response from the next server in turn, so that the client's requests are spread
// over the servers.
func (p *roundRobinProxy) addresses(w http.ResponseWriter, r *http.Request) {
	var lists []replicaAddresses
	for _, s := range p.servers {
		out := r.Clone(r.Context())
		out.RequestURI, out.URL.Scheme, out.URL.Host = "", p.scheme, at(s.Port)
		out.Host = out.URL.Host
		res, err := p.transport.RoundTrip(out)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		var list replicaAddresses
		if res.StatusCode != http.StatusOK || json.Unmarshal(body, &list) != nil {
			maps.Copy(w.Header(), res.Header)
			w.WriteHeader(res.StatusCode)
			_, _ = w.Write(body)
			return
		}
		if len(lists) == 0 {
			maps.Copy(w.Header(), res.Header)
			w.Header().Del("Content-Length")
		} else if len(list.Addresses) != len(lists[0].Addresses) { // the ranges have just changed
			continue
		}
		lists = append(lists, list)
	}
	merged, first := lists[0], int(p.next.Add(1))
	merged.Addresses = slices.Clone(merged.Addresses)
	for i := range merged.Addresses {
		merged.Addresses[i] = lists[(first+i)%len(lists)].Addresses[i]
	}
	_ = json.NewEncoder(w).Encode(merged)
}

// authority is the file with the certificate of the authority that signs a server's certificate.
func authority(s *Server) string {
	return filepath.Join(s.Args[slices.Index(s.Args, "--data")+1], "tls", "cert.pem")
}

// certificateBy makes a certificate for localhost that a server's authority has signed.
func certificateBy(t *testing.T, s *Server) tls.Certificate {
	t.Helper()
	signer, err := tls.LoadX509KeyPair(authority(s), filepath.Join(filepath.Dir(authority(s)), "key.pem"))
	must(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, template, signer.Leaf, key.Public(), signer.PrivateKey)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
