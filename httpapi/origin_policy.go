package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// A browser sends the requests of any page that it shows, also to servers on its user's machine or network.
// With the public emulator key or without authorization such requests would succeed. Three rules prevent
// that:
//
//   - The Host of a request must be a name or an address of this server. Otherwise a page whose own host
//     name resolves to this server (DNS rebinding) would have this server's origin.
//   - Scripts may read responses only if their origin is this server's own, one of the same machine, or
//     one that the operator has listed.
//   - Pages of other origins may only read: a browser sends simple requests, including writes, without a
//     preflight.
//
// The rules also apply if the key is secret, since keys are sometimes part of a page's source.

// hostAndOriginPolicy says for which hosts the server accepts requests, and pages of which origins may use
// it.
type hostAndOriginPolicy struct {
	hosts        map[string]bool // names in lower case, and addresses
	wildcards    []string        // ".example.com" for *.example.com
	everyAddress bool            // any IP address is accepted as an address of this server
	origins      map[string]bool // in the form of normalOrigin
	everyOrigin  bool
}

// newHostAndOriginPolicy makes a hostAndOriginPolicy from the options. It returns an error if an origin or a
// host is invalid.
func newHostAndOriginPolicy(o *Options) (n hostAndOriginPolicy, err error) {
	n = hostAndOriginPolicy{hosts: make(map[string]bool), origins: make(map[string]bool)}
	all := allHosts(o.Hosts)
	if o.Advertise != "" {
		if u, err := url.Parse(o.Advertise); err == nil {
			all = append(all, strings.ToLower(u.Hostname()))
		}
	}
	for _, h := range all {
		if ip, err := netip.ParseAddr(h); err == nil {
			n.everyAddress = n.everyAddress || ip.IsUnspecified()
			h = plainAddress(ip).String()
		}
		if rest, ok := strings.CutPrefix(h, "*."); ok {
			n.wildcards = append(n.wildcards, "."+rest)
		}
		n.hosts[strings.TrimSuffix(h, ".")] = true
	}
	for _, text := range o.CORSOrigins {
		origin, _ := normalOrigin(text)
		n.origins[origin] = true
		n.everyOrigin = n.everyOrigin || text == "*"
	}
	return n, CheckOrigins(o.CORSOrigins)
}

// Admits reports whether a request to another handler, on its own port, is allowed: its Host must be one of
// this server's, and its Origin must be missing or allowed.
func (s *Server) Admits(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return s.origins.allowsHost(r.Host) && (origin == "" || s.origins.allowsOrigin(origin, r.Host))
}

// CheckOrigins returns an error for the first of Options.CORSOrigins that is invalid.
func CheckOrigins(origins []string) error {
	for _, text := range origins {
		if _, ok := normalOrigin(text); !ok && text != "*" {
			return errors.New("'" + text + "' is not of the form https://page.example:8080, nor *")
		}
	}
	return nil
}

// CheckHosts returns an error for the first of Options.Hosts that is invalid. A host is a name, an address,
// or "*." and a name.
func CheckHosts(hosts []string) error {
	for _, host := range hosts {
		if _, err := netip.ParseAddr(host); err == nil {
			continue
		}
		for label := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(host, "*."), "."), ".") {
			if label == "" || strings.Trim(strings.ToLower(label),
				"abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
				return errors.New("'" + host +
					"' is not of the form mayfly.example, *.mayfly.example or 192.0.2.7")
			}
		}
	}
	return nil
}

// allowsHost reports whether a Host (or :authority) is one of this server's. An empty one is accepted,
// because browsers always send one.
func (n *hostAndOriginPolicy) allowsHost(authority string) bool {
	host, ok := hostOf(authority)
	if authority == "" || ok && n.hosts[host] {
		return true
	}
	if host = strings.TrimSuffix(strings.ToLower(host), "."); !ok || host == "" {
		return false
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = plainAddress(ip)
		return n.everyAddress || ip.IsLoopback() || n.hosts[ip.String()]
	}
	if n.hosts[host] || isLocalName(host) {
		return true
	}
	label, parent, _ := strings.Cut(host, ".")
	return label != "" && slices.Contains(n.wildcards, "."+parent)
}

// allowsOrigin reports whether scripts of an origin may use this server. host is the Host of their request.
func (n *hostAndOriginPolicy) allowsOrigin(origin, host string) bool {
	origin, ok := normalOrigin(origin)
	if n.everyOrigin || ok && n.origins[origin] {
		return true
	}
	u, err := url.Parse(origin)
	if !ok || err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if strings.EqualFold(u.Host, host) {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && plainAddress(ip).IsLoopback() || isLocalName(strings.TrimSuffix(u.Hostname(), "."))
}

// hostOf returns the host of "host", "host:port" or "[address]:port", without brackets; ok is false for
// anything else.
func hostOf(authority string) (host string, ok bool) {
	host, port := authority, ""
	if rest, bracketed := strings.CutPrefix(authority, "["); bracketed {
		if host, port, ok = strings.Cut(rest, "]"); !ok {
			return "", false
		}
	} else if i := strings.IndexByte(authority, ':'); i >= 0 {
		host, port = authority[:i], authority[i:]
	}
	digits, colon := strings.CutPrefix(port, ":")
	return host, (colon || port == "") && strings.Trim(digits, "0123456789") == ""
}

// isLocalName reports whether a name in lower case is localhost or below it (RFC 6761, 6.3).
func isLocalName(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// plainAddress returns the address without zone, with an IPv4-mapped IPv6 address as IPv4.
func plainAddress(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// normalOrigin returns an origin in lower case, without the default port of its scheme. It returns false if
// text is not an origin, that is, a scheme and a host without anything else.
func normalOrigin(text string) (string, bool) {
	u, err := url.Parse(strings.ToLower(strings.TrimSuffix(text, "/")))
	if err != nil || u.Scheme == "" || u.Host == "" || strings.Contains(u.Host, "*") || u.User != nil ||
		u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	if port := u.Port(); port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Scheme + "://" + u.Host, true
}

// corsHeaders are the response headers that a script in a browser may read.
const corsHeaders = "content-location, etag, lsn, x-mayfly-expires-at, x-mayfly-fault, x-mayfly-lint, x-mayfly-ttl-source, x-ms-activity-id, x-ms-alt-content-path, x-ms-content-path, x-ms-continuation, " +
	"x-ms-cosmos-correlated-activityid, x-ms-cosmos-index-utilization, x-ms-cosmos-item-llsn, x-ms-cosmos-llsn, x-ms-cosmos-min-throughput, x-ms-cosmos-query-execution-info, " +
	"x-ms-documentdb-collection-index-transformation-progress, x-ms-documentdb-partitionkeyrangeid, x-ms-documentdb-query-metrics, x-ms-documentdb-script-log-results, " +
	"x-ms-gatewayversion, x-ms-global-committed-lsn, x-ms-item-count, x-ms-item-lsn, x-ms-last-state-change-utc, x-ms-offer-replace-pending, " +
	"x-ms-quorum-acked-lsn, x-ms-request-charge, x-ms-request-duration-ms, x-ms-resource-quota, x-ms-resource-usage, x-ms-retry-after-ms, " +
	"x-ms-schemaversion, x-ms-serviceversion, x-ms-session-token, x-ms-share-throughput, x-ms-substatus"

// guarded refuses requests from pages that are not allowed, sets the CORS headers for allowed origins, and
// responds to CORS preflight requests (OPTIONS).
func (s *Server) guarded(next activeRequestHandler) activeRequestHandler {
	return func(c *activeRequest) error {
		if !s.origins.allowsHost(c.host) {
			return c.refuse("This server does not answer to the host '" + cosmos.Excerpt(c.host,
				cosmos.MaxExcerpt) + "'. It answers to the names and addresses of its own " +
				"machine that it listens on, to the host of --advertise, and to what --san names: start it with --san and that host, if it is meant.")
		}
		origin := c.header("Origin")
		welcome := origin != "" && s.origins.allowsOrigin(origin, c.host)
		if welcome {
			c.set("access-control-allow-origin", origin)
			c.set("vary", "Origin")
		}
		switch c.method {
		case http.MethodOptions:
			if origin != "" && !welcome {
				return c.refuse(foreignText(origin))
			}
			if welcome {
				c.answerPreflight()
			}
			return c.noContent(http.StatusNoContent)
		case http.MethodGet, http.MethodHead:
		default:
			if !welcome && (origin != "" || c.fromAnotherSite()) {
				return c.refuse(foreignText(origin))
			}
		}
		if welcome {
			c.set("access-control-expose-headers", corsHeaders)
		}
		return next(c)
	}
}

// answerPreflight sets the headers of the response to a preflight request.
func (c *activeRequest) answerPreflight() {
	c.set("access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	if asked := c.header("Access-Control-Request-Headers"); asked != "" {
		c.set("access-control-allow-headers", asked)
	}
	c.set("access-control-max-age", "3600")
}

// fromAnotherSite reports whether a request without an Origin header comes from a page of another origin,
// according to Sec-Fetch-Site.
func (c *activeRequest) fromAnotherSite() bool {
	site := c.header("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

func foreignText(origin string) string {
	if origin == "" {
		origin = "another"
	}
	return "A page of the origin '" + cosmos.Excerpt(origin, cosmos.MaxExcerpt) +
		"' may not do this: start the server with --cors-origin and that origin, if it is meant."
}

// refuse returns a 403 for a request whose path has not been parsed yet. It parses the path first, so that
// the error names the resource as every other error does.
func (c *activeRequest) refuse(message string) error {
	if t, err := parseTarget(c.path, c.query); err == nil {
		c.setTarget(t)
	}
	return cosmos.Failure(http.StatusForbidden, 0, message)
}

// localAddress returns the server's address on the connection of a request, for a request without a Host.
func localAddress(ctx context.Context) string {
	if at, ok := ctx.Value(http.LocalAddrContextKey).(net.Addr); ok {
		return at.String()
	}
	return "localhost"
}
