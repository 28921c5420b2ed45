package httpapi

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// A browser lends its place in the network to every page that it shows: a page from anywhere can send
// requests to a server on its user's machine, and a key that everybody knows, or none, keeps nobody out.
// Three rules do:
//
//   - A request's Host is a name or an address of this server. Else a page whose own name is made to lead here (DNS
//     rebinding) would be of this server's origin to its browser.
//   - Scripts read the answers only of a server that lets their origin in: its own, those of the same machine, those that
//     the operator names.
//   - What is no read is refused to a page of another origin, since a browser sends simple requests without asking.
//
// They hold whatever the key is: one that is secret today is in a page's source tomorrow.

// neighbours are the hosts that a server answers to and the origins whose pages may use it.
type neighbours struct {
	hosts        map[string]bool // names in lower case and addresses
	below        []string        // ".example.com" for *.example.com
	everyAddress bool            // whatever address a client used is this server's
	origins      map[string]bool // as normalOrigin has them
	everyOrigin  bool
}

// newNeighbours reads the options. Its errors name what is wrong with an origin.
func newNeighbours(o *Options) (n neighbours, err error) {
	n = neighbours{hosts: make(map[string]bool), origins: make(map[string]bool)}
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
			n.below = append(n.below, "."+rest)
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

// Admits tells of a request that another handler answers on a port of its own whether its Host is this
// server's, and its Origin, where it has one, may use it.
func (s *Server) Admits(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return s.near.answersTo(r.Host) && (origin == "" || s.near.welcomes(origin, r.Host))
}

// CheckOrigins reports which of Options.CORSOrigins cannot be one.
func CheckOrigins(origins []string) error {
	for _, text := range origins {
		if _, ok := normalOrigin(text); !ok && text != "*" {
			return errors.New("'" + text + "' is not of the form https://page.example:8080, nor *")
		}
	}
	return nil
}

// CheckHosts reports which of Options.Hosts cannot be one: a host is a name, an address, or *. and a name.
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

// answersTo reports whether a Host (or :authority) is this server's. A request without one comes from no
// browser.
func (n *neighbours) answersTo(authority string) bool {
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
	return label != "" && slices.Contains(n.below, "."+parent)
}

// welcomes reports whether scripts of an origin may use this server, to which their request came as host.
func (n *neighbours) welcomes(origin, host string) bool {
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

// hostOf is the host of "host", "host:port" or "[address]:port", without brackets; ok is false for anything
// else.
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

// isLocalName tells of a name in lower case whether it is the machine's own for everybody: RFC 6761, 6.3.
func isLocalName(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// plainAddress is an address without a zone, and of IPv4 where it stands for one.
func plainAddress(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// normalOrigin is an origin in lower case, without the port that its scheme has anyway.
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

// guarded refuses what a browser brings from where it must not, and tells scripts of the origins that are let
// in what they may read. It answers the browser's question before a request (OPTIONS) by itself.
func (s *Server) guarded(next step) step {
	return func(c *call) error {
		r := c.r
		if !s.near.answersTo(r.Host) {
			return c.refuse("This server does not answer to the host '" + cosmos.Excerpt(r.Host,
				cosmos.MaxExcerpt) + "'. It answers to the names and addresses of its own " +
				"machine that it listens on, to the host of --advertise, and to what --san names: start it with --san and that host, if it is meant.")
		}
		origin := first(r.Header, "Origin")
		welcome := origin != "" && s.near.welcomes(origin, r.Host)
		if welcome {
			c.set("access-control-allow-origin", origin)
			c.set("vary", "Origin")
		}
		switch r.Method {
		case http.MethodOptions:
			if origin != "" && !welcome {
				return c.refuse(foreignText(origin))
			}
			if welcome {
				c.allowWhatIsAsked(r)
			}
			return c.noContent(http.StatusNoContent)
		case http.MethodGet, http.MethodHead:
		default:
			if !welcome && (origin != "" || fromAnotherSite(r)) {
				return c.refuse(foreignText(origin))
			}
		}
		if welcome {
			c.set("access-control-expose-headers", corsHeaders)
		}
		return next(c)
	}
}

// allowWhatIsAsked answers a browser that asks whether a script may send a request.
func (c *call) allowWhatIsAsked(r *http.Request) {
	c.set("access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	if asked := first(r.Header, "Access-Control-Request-Headers"); asked != "" {
		c.set("access-control-allow-headers", asked)
	}
	c.set("access-control-max-age", "3600")
}

// fromAnotherSite reports whether a browser says of a request without an Origin that a page of another origin
// made it.
func fromAnotherSite(r *http.Request) bool {
	site := first(r.Header, "Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

func foreignText(origin string) string {
	if origin == "" {
		origin = "another"
	}
	return "A page of the origin '" + cosmos.Excerpt(origin, cosmos.MaxExcerpt) +
		"' may not do this: start the server with --cors-origin and that origin, if it is meant."
}

// refuse is a 403 before the path was looked at. The answer names the path's resource as any other does.
func (c *call) refuse(message string) error {
	if t, err := parseTarget(requestPath(c.r)); err == nil {
		c.aim(t)
	}
	return cosmos.Failure(http.StatusForbidden, 0, message)
}

// localAddress is where a request came in, for one that has no Host.
func localAddress(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return at.String()
	}
	return "localhost"
}
