package httpapi

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/mayflydb/mayfly/httpapi/explorer"
)

// fromBrowser reports whether a request comes from a browser. A browser prefers HTML and sends no
// authorization header; client libraries do neither.
func (c *activeRequest) fromBrowser() bool {
	return c.header("Authorization") == "" && strings.HasPrefix(c.header("Accept"), "text/html")
}

// redirectToExplorer redirects a browser's GET / to the explorer.
func (s *Server) redirectToExplorer(c *activeRequest) error {
	c.set("location", "/"+explorer.Root+"/")
	return c.noContent(http.StatusSeeOther)
}

// appendEndpoint appends the URL at which clients should use the server, with a slash at the end:
// Options.Advertise if set, otherwise the scheme and host of the request.
func (c *activeRequest) appendEndpoint(dst []byte) []byte {
	if c.srv.opt.Advertise != "" {
		return append(dst, c.srv.opt.Advertise...)
	}
	host := c.host
	if host == "" {
		host = c.local
	}
	if host == "" {
		host = localAddress(c.context)
	}
	dst = append(append(dst, c.scheme()...), "://"...)
	return append(append(dst, host...), '/')
}

// scheme returns the scheme, http or https, by which the client sent the request. X-Forwarded-Proto is
// accepted only from a proxy on the same machine, which may terminate TLS for the server.
func (c *activeRequest) scheme() string {
	if said := c.header("X-Forwarded-Proto"); said != "" && fromLoopback(c.remote) {
		said, _, _ = strings.Cut(said, ",") // the proxy nearest to the client is the first
		if said = strings.ToLower(strings.TrimSpace(said)); said == "http" || said == "https" {
			return said
		}
	}
	if c.conn != nil && c.conn.secure() || c.r != nil && c.r.TLS != nil {
		return "https"
	}
	return "http"
}

// fromLoopback reports whether a client with this address is on the server's own machine.
func fromLoopback(remote string) bool {
	from, err := netip.ParseAddrPort(remote)
	return err == nil && from.Addr().Unmap().IsLoopback()
}
