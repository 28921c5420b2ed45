package httpapi

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/mayflydb/mayfly/httpapi/explorer"
)

// fromBrowser reports whether a request comes from a browser. A browser prefers HTML and sends no
// authorization header; client libraries do neither.
func (c *call) fromBrowser() bool {
	h := c.r.Header
	return first(h, "Authorization") == "" && strings.HasPrefix(first(h, "Accept"), "text/html")
}

// redirectToExplorer redirects a browser's GET / to the explorer.
func (s *Server) redirectToExplorer(c *call) error {
	c.set("location", "/"+explorer.Root+"/")
	return c.noContent(http.StatusSeeOther)
}

// endpoint returns the URL at which clients should use the server, with a slash at the end:
// Options.Advertise if set, otherwise the scheme and host of the request.
func (s *Server) endpoint(r *http.Request) string { return string(s.appendEndpoint(nil, r)) }

func (s *Server) appendEndpoint(dst []byte, r *http.Request) []byte {
	if s.opt.Advertise != "" {
		return append(dst, s.opt.Advertise...)
	}
	host := r.Host
	if host == "" {
		host = localAddress(r)
	}
	dst = append(append(dst, scheme(r)...), "://"...)
	return append(append(dst, host...), '/')
}

// scheme returns the scheme, http or https, by which the client sent a request. X-Forwarded-Proto is
// accepted only from a proxy on the same machine, which may terminate TLS for the server.
func scheme(r *http.Request) string {
	if said := first(r.Header, "X-Forwarded-Proto"); said != "" && fromLoopback(r) {
		said, _, _ = strings.Cut(said, ",") // the proxy nearest to the client is the first
		if said = strings.ToLower(strings.TrimSpace(said)); said == "http" || said == "https" {
			return said
		}
	}
	if conn, ok := r.Context().Value(connKey{}).(*sniffConn); ok && conn.secure() || r.TLS != nil {
		return "https"
	}
	return "http"
}

// fromLoopback reports whether a request comes from the server's own machine.
func fromLoopback(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}
