package main

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/cli"
)

// authority returns host:port, the address at which clients on this machine reach the server. The host is
// localhost if the server listens on all addresses or on a loopback address.
func (s *serveCommandState) authority(port int) string {
	host := s.flags.host
	if ip := net.ParseIP(host); ip != nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = "localhost" // the certificate is for this name, and SDKs treat the name specially
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// printStart prints what a user needs to connect. The first words of each line must not change, since
// scripts find the lines by them.
func (s *serveCommandState) printStart(w io.Writer) {
	var ports []int
	for _, ln := range s.listeners {
		if p := portOf(ln); !slices.Contains(ports, p) {
			ports = append(ports, p)
		}
	}
	main := s.authority(ports[0])
	key := "<the key given>" // the key is a secret that must not be in a log
	if s.flags.wellKnownKey() {
		key = s.flags.key
	}
	data, certificate := s.flags.data, s.server.CertificatePath()
	if s.flags.memory {
		data = "in memory: nothing is kept"
	}
	if certificate == "" {
		certificate = "http://" + main + "/_mayfly/cert.pem"
	}
	fmt.Fprintf(w, "mayfly %s is ready\n\n", version())
	row := func(name, value string) { fmt.Fprintf(w, "  %-12s %s\n", name, value) }
	row("endpoint", "https://"+main+"/")
	row("", "http://"+main+"/")
	for _, p := range ports[1:] {
		row("", "https://"+s.authority(p)+"/")
	}
	if s.flags.advertise != "" {
		row("advertised", s.flags.advertise)
	}
	row("key", key)
	s.printClients(row, main, key)
	if s.bus != nil {
		s.bus.printPorts(s, row)
	}
	row("browser", "http://"+main+"/_explorer/")
	row("certificate", certificate)
	row("data", data)
	row("stop", "Ctrl+C")
	fmt.Fprintln(w)
	if slices.Contains(s.flags.corsOrigins, "*") && (s.flags.noAuth || s.flags.wellKnownKey()) {
		s.log.Warn("every web page in a browser that reaches this server has full access: " +
			"give a --key of your own, or name the origins")
	}
	switch {
	case s.flags.noAuth:
		s.log.Warn("no key is required: every process on this machine has full access")
	case s.flags.wellKnownKey() && !loopback(s.flags.host):
		s.log.Warn("the well-known key is in use on an address that other machines can reach: give a " +
			"--key of your own")
	}
}

// printClients prints settings for clients that can be pasted. The .NET and Java clients need settings to
// skip the check of the certificate, which they do not know, and to use gateway mode if direct mode is off.
// For other clients another line says how to trust the certificate. Few lines contain the key, because it
// makes them long.
func (s *serveCommandState) printClients(row func(name, value string), main, key string) {
	// Clients that support the last setting (.NET) skip the check of the certificate; others ignore the
	// setting.
	row("connection", "AccountEndpoint=https://"+main+"/;AccountKey="+key+
		";DisableServerCertificateValidation=true;")
	if s.flags.direct {
		row(".NET", "new CosmosClient(connection)")
	} else {
		row(".NET", "new CosmosClient(connection,")
		row("", "    new() { ConnectionMode = ConnectionMode.Gateway })")
	}
	row("Java", "-DCOSMOS.EMULATOR_SERVER_CERTIFICATE_VALIDATION_DISABLED=true")
	host, port, err := net.SplitHostPort(main)
	if err == nil && host != "localhost" {
		row("", "-DCOSMOS.EMULATOR_HOST="+host)
	}
	mode := ""
	if !s.flags.direct {
		mode = ".gatewayMode()"
	}
	row("", "new CosmosClientBuilder().endpoint(endpoint).key(key)"+mode)
	title := "commands"
	if port != strconv.Itoa(cli.DefaultPort) || host != "localhost" {
		row(title, setVariable(runtime.GOOS, "MAYFLY_URL", "http://"+main))
		title = ""
	}
	if !s.flags.wellKnownKey() && !s.flags.noAuth {
		row(title, setVariable(runtime.GOOS, "MAYFLY_KEY", key))
	}
}

// setVariable returns the shell command that sets an environment variable for the commands after it.
func setVariable(goos, name, value string) string {
	if goos == "windows" {
		return "$env:" + name + ` = "` + value + `"`
	}
	if strings.ContainsAny(value, " <>[]") {
		value = "'" + value + "'"
	}
	return "export " + name + "=" + value
}
