package hook

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// AllowedAddresses is the set of addresses that webhooks may use: public addresses, and those that the
// operator allows. Clients that may change settings could otherwise use the server to access addresses that
// they cannot reach: its own machine, its network, the metadata service of a cloud. The zero value allows
// only public addresses.
type AllowedAddresses struct {
	prefixes []netip.Prefix
	names    []string // host names in lower case, whose addresses are all allowed
}

// loopbacks are the networks that "localhost" allows.
var loopbacks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// ParseAllow parses a list of networks (10.0.0.0/8), addresses and host names. localhost allows every
// loopback address. The error names the invalid entry.
func ParseAllow(list []string) (a AllowedAddresses, err error) {
	for _, text := range list {
		text = strings.ToLower(strings.TrimSpace(text))
		if p, err := netip.ParsePrefix(text); err == nil {
			a.prefixes = append(a.prefixes, p.Masked())
			continue
		}
		if ip, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
			ip = ip.Unmap().WithZone("")
			a.prefixes = append(a.prefixes, netip.PrefixFrom(ip, ip.BitLen()))
			continue
		}
		if text == "" || strings.ContainsAny(text, "/:@*?# ") {
			return a, fmt.Errorf("'%s' is no network (10.0.0.0/8), address or host name", text)
		}
		if text == "localhost" {
			a.prefixes = append(a.prefixes, loopbacks...)
		}
		a.names = append(a.names, strings.TrimSuffix(text, "."))
	}
	return a, nil
}

// A DisallowedAddressError is the error of a webhook whose address is not allowed.
type DisallowedAddressError struct {
	Host    string // as in the webhook's URL
	Address netip.Addr
}

func (e *DisallowedAddressError) Error() string {
	return "the webhook's host '" + e.Host + "' is the address " + e.Address.String() +
		", which is not public and not allowed: see --webhook-allow"
}

// resolveTime is the time limit of Check's name lookup.
const resolveTime = 2 * time.Second

// Check fails with *DisallowedAddressError if a webhook's URL resolves to an address that is not allowed. It
// accepts a name that has no address, because the address is checked again at each delivery.
func (a AllowedAddresses) Check(ctx context.Context, rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return fmt.Errorf("the webhook's address: %w", err)
	}
	if a.named(u.Hostname()) {
		return nil
	}
	if isLocal(u.Hostname()) && !a.address(loopback) {
		return &DisallowedAddressError{u.Hostname(), loopback}
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil
	}
	for _, ip := range found {
		if !a.address(ip) {
			return &DisallowedAddressError{u.Hostname(), ip.Unmap()}
		}
	}
	return nil
}

// loopback is the address of localhost and names below it.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// isLocal reports whether a name is localhost or below it. These names are loopback addresses in every
// resolver (RFC 6761, 6.3).
func isLocal(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// named reports whether a host is allowed by its name.
func (a AllowedAddresses) named(host string) bool {
	return slices.Contains(a.names, strings.TrimSuffix(strings.ToLower(host), "."))
}

// address reports whether a connection to an address is allowed.
func (a AllowedAddresses) address(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return public(ip) || slices.ContainsFunc(a.prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// special4 are the IPv4 networks that are reserved, private or not unicast: IANA's registry of
// special-purpose addresses. Loopback, link-local and RFC 1918 networks are not listed, because net/netip
// recognizes them.
var special4 = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix(
		"192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix(
		"198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix(
		"240.0.0.0/4"),
}

// Public IPv6 addresses are those in global6 that are not in special6. special6 includes tunnels to IPv4
// addresses (2001::/32, 2002::/16).
var (
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = []netip.Prefix{netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20")}
	nat64 = netip.MustParsePrefix("64:ff9b::/96") // the last 4 bytes are an IPv4 address
)

// public reports whether an address is a public one.
func public(ip netip.Addr) bool {
	in := func(p netip.Prefix) bool { return p.Contains(ip) }
	switch {
	case nat64.Contains(ip):
		b := ip.As16()
		return public(netip.AddrFrom4([4]byte(b[12:])))
	case ip.Is4():
		return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(special4, in)
	}
	return global6.Contains(ip) && !slices.ContainsFunc(special6, in)
}

// restrictedTransport connects only to allowed addresses. It checks the address at the time of the
// connection, so that a name cannot resolve to another address after the check. If the environment names a
// proxy (HTTPS_PROXY), the proxy connects, and only Check is applied to the target.
type restrictedTransport struct {
	allow           AllowedAddresses
	direct, proxied *http.Transport
}

func newTransport(allow AllowedAddresses) *restrictedTransport {
	plain := &net.Dialer{}
	guarded := func(host string) *net.Dialer {
		return &net.Dialer{ControlContext: func(_ context.Context, _, address string,
			_ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("the webhook's address: %w", err)
			}
			if !allow.address(to.Addr()) {
				return &DisallowedAddressError{host, to.Addr().Unmap()}
			}
			return nil
		}}
	}
	t := &restrictedTransport{allow: allow, direct: &http.Transport{MaxIdleConnsPerHost: 1,
		IdleConnTimeout: time.Minute}}
	t.proxied = t.direct.Clone()
	t.proxied.Proxy = http.ProxyFromEnvironment
	t.direct.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("the webhook's address: %w", err)
		}
		if allow.named(host) {
			return plain.DialContext(ctx, network, address)
		}
		return guarded(host).DialContext(ctx, network, address)
	}
	return t
}

// RoundTrip sends a request, or fails with *DisallowedAddressError if the address is not allowed.
func (t *restrictedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	if err != nil || proxy == nil {
		return t.direct.RoundTrip(r)
	}
	if err := t.allow.Check(r.Context(), r.URL.String()); err != nil {
		return nil, err
	}
	return t.proxied.RoundTrip(r)
}

// CloseIdleConnections closes the unused connections, both direct ones and those to the proxy.
// http.Client.CloseIdleConnections calls it.
func (t *restrictedTransport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}
