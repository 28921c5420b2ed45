package httpapi

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/mayflydb/mayfly/httpapi/explorer"
)

// fromBrowser reports whether a person's browser asks: it wants a page before all else, and has no key to
// show. No client library does either.
func (c *call) fromBrowser() bool {
	h := c.r.Header
	return first(h, "Authorization") == "" && strings.HasPrefix(first(h, "Accept"), "text/html")
}

// leadToPage answers GET / for a browser: the page for people is elsewhere.
func (s *Server) leadToPage(c *call) error {
	c.set("location", "/"+explorer.Root+"/")
	return c.noContent(http.StatusSeeOther)
}

// endpoint is the address of the server, with a slash at its end, as a client is told: that by which its
// request came, or the one advertised.
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

// scheme tells by which of the two protocols of the port a request came. A proxy on the same machine that
// ends TLS in front of the server says what its client spoke; from elsewhere X-Forwarded-Proto is anybody's
// word.
func scheme(r *http.Request) string {
	if said := first(r.Header, "X-Forwarded-Proto"); said != "" && fromLoopback(r) {
		said, _, _ = strings.Cut(said, ",") // the proxy nearest to the client comes first
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
