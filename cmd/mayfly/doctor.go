package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/ttl"
)

// doctorTime is the time limit of each check of `mayfly doctor`. doctorSkew is the difference between the
// clocks of a client and the server up to which requests are accepted.
const (
	doctorTime = 5 * time.Second
	doctorSkew = 15 * time.Minute
)

// The results of a check of `mayfly doctor`. findingWarn means that only some clients cannot connect.
const (
	findingOK   = "ok"
	findingWarn = "warn"
	findingFail = "fail"
)

// doctorCheckResult is the result of one check of `mayfly doctor`.
type doctorCheckResult struct {
	Check  string `json:"check"`
	State  string `json:"state"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"`
}

// errCannotConnect is returned by `mayfly doctor` if it has found a problem that prevents every client
// from connecting.
var errCannotConnect = errors.New("a client cannot connect: see what failed above")

func doctorCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var database string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why a client cannot connect: proxy, port, Host, clock, key, TLS, ALPN, trust",
		Args:  cobra.NoArgs,
		Long: "Find out why a client cannot connect to the server at --url. Each check prints a line, " +
			"with a remedy\n" +
			"if it fails. The exit code is 1 if no client can connect.\n\n" +
			"With --engine, the command examines a database for a server, and changes nothing in it.",
	}
	cmd.Flags().StringVar(&database, "engine", "", "postgres:// address of a database to examine")
	c.RegisterServer(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		if database != "" {
			return examineDatabase(cmd, database, c.JSON)
		}
		at, err := cli.ServerAddress(c.URL)
		if err != nil {
			return err
		}
		list := newDoctor(&c, at).examine(cmd.Context())
		if err := printFindings(cmd.OutOrStdout(), c.JSON, list); err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(f doctorCheckResult) bool { return f.State == findingFail }) {
			return errCannotConnect
		}
		return nil
	})
	return cmd
}

func printFindings(out io.Writer, asJSON bool, list []doctorCheckResult) error {
	var text strings.Builder
	width := 6
	for _, f := range list {
		width = max(width, len(f.Check))
	}
	for _, f := range list {
		fmt.Fprintf(&text, "%-5s %-*s %s\n", f.State, width, f.Check, f.Found)
		if f.Remedy != "" {
			fmt.Fprintf(&text, "%-*s -> %s\n", 6+width, "", f.Remedy)
		}
	}
	return cli.PrintResult(out, asJSON, strings.TrimSuffix(text.String(), "\n"),
		map[string][]doctorCheckResult{"checks": list})
}

// doctor checks whether clients can connect to a server, for `mayfly doctor`.
type doctor struct {
	call cli.ClientCommandFlags
	at   *url.URL
	host string // including its port
}

func newDoctor(c *cli.ClientCommandFlags, at *url.URL) *doctor {
	port := at.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[at.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return &doctor{*c, at, net.JoinHostPort(at.Hostname(), port)}
}

// examine runs the checks in the order in which a client would meet the problems. If the port does not
// answer, the remaining checks are skipped.
func (d *doctor) examine(ctx context.Context) []doctorCheckResult {
	list := []doctorCheckResult{checkProxy(d.at.Hostname(), os.LookupEnv), d.within(ctx, d.checkPort)}
	if list[1].State == findingFail {
		return list
	}
	for _, check := range []func(context.Context) doctorCheckResult{d.checkHost, d.checkKey, d.checkTLS,
		d.checkTrust} {
		list = append(list, d.within(ctx, check))
	}
	return list
}

func (d *doctor) within(ctx context.Context,
	check func(context.Context) doctorCheckResult) doctorCheckResult {
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	return check(ctx)
}

// checkProxy looks for environment variables that make clients use a proxy for host. Go never uses a proxy
// for localhost, but the SDKs of Python and JavaScript do. lookup has the meaning of os.LookupEnv.
func checkProxy(host string, lookup func(string) (string, bool)) doctorCheckResult {
	first := func(names ...string) (name, value string) {
		for _, name := range names {
			if value, ok := lookup(name); ok && value != "" {
				return name, value
			}
		}
		return "", ""
	}
	name, _ := first("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
	if name == "" {
		return doctorCheckResult{"proxy", findingOK, "no variable names a proxy", ""}
	}
	_, except := first("NO_PROXY", "no_proxy")
	for _, e := range strings.Split(except, ",") {
		e = strings.TrimPrefix(strings.TrimSpace(e), ".")
		if e == "*" || e != "" && (strings.EqualFold(e, host) || strings.HasSuffix(host, "."+e)) {
			return doctorCheckResult{"proxy", findingOK,
				name + " is set, and NO_PROXY leaves " + host + " out",
				""}
		}
	}
	return doctorCheckResult{"proxy", findingWarn, name + " is set: some clients ask the proxy for " + host,
		"export NO_PROXY=" + strings.TrimPrefix(except+","+host, ",")}
}

func (d *doctor) checkPort(ctx context.Context) doctorCheckResult {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", d.host)
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return doctorCheckResult{"port", findingFail, "no address is known for " + d.at.Hostname(),
			"name the server by localhost, or its name in the hosts file or the container network"}
	case err != nil:
		return doctorCheckResult{"port", findingFail, "nothing answers at " + d.host + ": " + err.Error(),
			"start `mayfly serve`, publish the port of a container, or give the right --url"}
	}
	found := "open at " + conn.RemoteAddr().String()
	if err := conn.Close(); err != nil {
		return doctorCheckResult{"port", findingWarn, found + ", but " + err.Error(), ""}
	}
	return doctorCheckResult{"port", findingOK, found, ""}
}

// get sends a request without a proxy and without checking the certificate, since other checks test these.
func (d *doctor) get(ctx context.Context, req *http.Request) (*http.Response, error) {
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: d.insecureTLS()}
	defer transport.CloseIdleConnections()
	return transport.RoundTrip(req.WithContext(ctx))
}

// insecureTLS returns a TLS configuration that accepts any certificate, since the certificate is only
// examined.
func (d *doctor) insecureTLS() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, ServerName: d.at.Hostname(), //nolint:gosec // only examined
		NextProtos: []string{"h2", "http/1.1"}}
}

// checkHost checks that a Mayfly server answers at the URL and accepts its host name, and compares the
// server's clock with this machine's.
func (d *doctor) checkHost(ctx context.Context) doctorCheckResult {
	const check = "host"
	req, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(d.call.URL, "/")+"/_mayfly/livez", nil)
	if err != nil {
		return doctorCheckResult{check, findingFail, err.Error(), "give a --url like http://localhost:8081"}
	}
	res, err := d.get(ctx, req)
	if err != nil {
		return doctorCheckResult{check, findingFail, err.Error(), "is this the port of a Mayfly server?"}
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden, http.StatusMisdirectedRequest:
		return doctorCheckResult{check, findingFail,
			"the server does not answer to the name " + d.at.Hostname(),
			"start it with --san " + d.at.Hostname() + ", or call it localhost"}
	default:
		remedy := "another program has this port, or the server is starting: look into its log"
		if strings.Trim(d.at.Path, "/") != "" {
			remedy = "give the --url without the path: " + d.at.Scheme + "://" + d.at.Host
		}
		return doctorCheckResult{check, findingFail, req.URL.Path + " answers " + res.Status, remedy}
	}
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return doctorCheckResult{check, findingOK, "a server answers to " + d.at.Hostname(), ""}
	}
	if off := (ttl.SystemClock{}).Now().Sub(date); off.Abs() > doctorSkew {
		return doctorCheckResult{check, findingFail,
			"the clocks differ by " + off.Abs().Round(time.Second).String(),
			"set the clock of this machine, or start the server with --no-clock-check"}
	}
	return doctorCheckResult{check, findingOK,
		"a server answers to " + d.at.Hostname() + "; its clock and this one agree", ""}
}

func (d *doctor) checkKey(ctx context.Context) doctorCheckResult {
	const check = "key"
	req, err := d.call.Call(ctx, http.MethodGet, "dbs", nil)
	if err != nil {
		return doctorCheckResult{check, findingFail, err.Error(),
			"the key is base64; --key or MAYFLY_KEY gives it"}
	}
	res, err := d.get(ctx, req)
	if err != nil {
		return doctorCheckResult{check, findingFail, err.Error(), "look into the server's log"}
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusOK:
		return doctorCheckResult{check, findingOK, "the server accepts it", ""}
	case res.StatusCode == http.StatusUnauthorized:
		return doctorCheckResult{check, findingFail, "the server has another key",
			"give the client the key that the server was started with (--key or MAYFLY_KEY)"}
	}
	return doctorCheckResult{check, findingFail, "a signed request is answered " + res.Status,
		"look into the server's log"}
}

// handshake makes a TLS handshake that offers the same protocols as an HTTP/2 client.
func (d *doctor) handshake(ctx context.Context) (tls.ConnectionState, error) {
	dialer := tls.Dialer{Config: d.insecureTLS()}
	conn, err := dialer.DialContext(ctx, "tcp", d.host)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	state := conn.(*tls.Conn).ConnectionState() //nolint:forcetypeassert // guaranteed by the dialer
	return state, conn.Close()
}

func (d *doctor) checkTLS(ctx context.Context) doctorCheckResult {
	state, err := d.handshake(ctx)
	if err != nil {
		return doctorCheckResult{"tls", findingFail, "no TLS at " + d.host + ": " + err.Error(),
			"does something stand before the server that passes HTTP alone?"}
	}
	version := tls.VersionName(state.Version)
	if state.NegotiatedProtocol == "" {
		return doctorCheckResult{"tls", findingWarn, version + ", but no protocol is agreed on (ALPN)",
			"what stands before the server should pass TLS through: gRPC and HTTP/2 need ALPN"}
	}
	return doctorCheckResult{"tls", findingOK, version + ", ALPN " + state.NegotiatedProtocol, ""}
}

// checkTrust verifies the certificate like a client that uses the system's trusted certificates.
func (d *doctor) checkTrust(ctx context.Context) doctorCheckResult {
	const check = "trust"
	state, err := d.handshake(ctx)
	if err != nil || len(state.PeerCertificates) == 0 {
		return doctorCheckResult{check, findingWarn, "there is no certificate to look at", ""}
	}
	leaf, others := state.PeerCertificates[0], x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		others.AddCert(c)
	}
	if err := leaf.VerifyHostname(d.at.Hostname()); err != nil {
		return doctorCheckResult{check, findingWarn, err.Error(),
			"start the server with --san " + d.at.Hostname()}
	}
	_, err = leaf.Verify(x509.VerifyOptions{Intermediates: others, CurrentTime: ttl.SystemClock{}.Now()})
	if err != nil {
		return doctorCheckResult{check, findingWarn, "this system does not trust the certificate",
			"`mayfly cert trust` tells how; http:// needs no certificate"}
	}
	return doctorCheckResult{check, findingOK, "this system trusts the certificate", ""}
}
