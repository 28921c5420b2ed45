package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/engine/pebble"
	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/internal/cli"
	"github.com/mayflydb/mayfly/internal/hook"
)

const (
	defaultHost = "127.0.0.1"
	// defaultComputePort is the port at which some SDK tests expect a second gateway.
	defaultComputePort = 8903
)

// consistencyLevels are the consistency levels of Cosmos DB, the strongest first.
var consistencyLevels = []string{"Strong", "BoundedStaleness", "Session", "ConsistentPrefix", "Eventual"}

// serveFlags are the settings of serve as the user gave them.
type serveFlags struct {
	healthPort                                                               string
	host, computePort, data, key, keyFile, advertise, accountID, consistency string
	logLevel, logFormat, compression, seed                                   string
	san, corsOrigins, webhookAllow                                           []string
	webhooks                                                                 hook.AllowedAddresses // parsed
	port, ranges                                                             int
	memory, noAuth, noClockCheck, strict, virtualClock                       bool
	lenient, serveCrossPartition, throttle, direct                           bool
	engine, migrateTo                                                        string
	ttlPreviousImage, continuousBackup, acceptDamagedLog, allowWellKnownKey  bool
	emulatorVariables                                                        bool
	limits                                                                   limitFlags
	servicebus                                                               servicebusFlags
	signals                                                                  telemetryFlags
}

// register declares the flags and their defaults.
func (f *serveFlags) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&f.host, "host", defaultHost, "address to listen on; 0.0.0.0 for all")
	flags.IntVar(&f.port, "port", cli.DefaultPort, "port for both HTTP and HTTPS; 0 for any free port")
	flags.StringVar(&f.computePort, "compute-port", "",
		`second port for the same requests; "off" is none (default 8903 where --port is 8081, else none)`)
	flags.StringVar(&f.healthPort, "health-port", "off",
		"port for health probes (/alive, /ready, /status), 8080 in the vnext emulator; 0 is any free one")
	flags.StringVar(&f.data, "data", "", "data folder (default Mayfly's folder in the user's data directory)")
	flags.StringVar(&f.engine, "engine", "",
		"postgres://user:password@host1,host2/database keeps the data in PostgreSQL;\n"+
			"the data folder keeps the certificate and temporary files")
	flags.StringVar(&f.migrateTo, "migrate-to", "",
		"postgres:// address of an empty database, or empty folder, to which the data folder is copied "+
			"while\n"+
			"the server runs; when the server is stopped, the store changes over")
	flags.BoolVar(&f.acceptDamagedLog, acceptDamagedLog, false,
		"start even if a log of writes is damaged or missing: its acknowledged writes are lost")
	flags.BoolVar(&f.memory, "memory", false,
		"keep all data in memory: nothing is written to disk, and a restart loses everything")
	flags.StringVar(&f.key, "key", "",
		"master key in base64 (default the well-known key of the Cosmos DB emulators)")
	flags.StringVar(&f.keyFile, "key-file", "",
		"file with the master key, such as a secret that is mounted into a container")
	flags.BoolVar(&f.allowWellKnownKey, "allow-well-known-key", false,
		"allow the emulators' well-known key on a --host that other machines can reach")
	flags.BoolVar(&f.noAuth, "no-auth", false, "accept requests without a key; only allowed on a loopback "+
		"--host")
	flags.BoolVar(&f.noClockCheck, "no-clock-check", false,
		"accept signed requests whose date differs by more than 15 minutes from the server's")
	flags.StringSliceVar(&f.san, "san", nil,
		"additional name or address of the server, also in its certificate; may be repeated")
	flags.StringSliceVar(&f.corsOrigins, "cors-origin", nil,
		"origin (https://page.example) whose pages may use the server, in addition to loopback origins; * "+
			"allows all; may be repeated")
	flags.StringSliceVar(&f.webhookAllow, "webhook-allow", nil,
		"network (10.0.0.0/8), address or host name that webhooks may use, in addition to public "+
			"addresses; localhost is every loopback address; may be repeated")
	flags.StringVar(&f.advertise, "advertise", "",
		"endpoint that clients are told to use (default the one that they used)")
	flags.StringVar(&f.accountID, "account-id", "mayfly", "name of the account")
	flags.StringVar(&f.consistency, "consistency", "Session", "consistency level of the account: "+
		strings.Join(consistencyLevels, ", "))
	flags.IntVar(&f.ranges, "ranges", 0,
		"partition ranges of a new container (default by its throughput: one up to 10,000 RU/s)")
	flags.BoolVar(&f.lenient, "lenient", false,
		"accept queries that Cosmos DB refuses: ORDER BY over several paths without a composite index, "+
			"BETWEEN beside AND, /* comments */")
	flags.BoolVar(&f.serveCrossPartition, "serve-cross-partition", false,
		"execute cross-partition queries whose results a gateway lets the client merge")
	flags.BoolVar(&f.throttle, "throttle", false, "refuse requests beyond a container's throughput with 429")
	flags.BoolVar(&f.direct, "direct", true,
		"serve clients in direct mode, the default of .NET and Java, on the same port; false refuses them")
	f.registerData(flags)
	f.signals.register(flags)
	registerEmulatorVariables(flags, &f.emulatorVariables)
}

// registerData declares the flags for storage and logging.
func (f *serveFlags) registerData(flags *pflag.FlagSet) {
	f.limits.register(flags)
	f.servicebus.register(flags)
	flags.BoolVar(&f.ttlPreviousImage, "ttl-previous-image", false,
		"keep the last version of an expired item in the feed of all versions and deletes")
	flags.BoolVar(&f.continuousBackup, "continuous-backup", false,
		"keep the feed of all versions and deletes for seven days in containers that are created from now "+
			"on,\n"+
			"as an account with continuous backup does")
	flags.BoolVar(&f.strict, "strict", false,
		"refuse unknown properties of a container's definition instead of logging them")
	flags.BoolVar(&f.virtualClock, "virtual-clock", false,
		"use a data clock that PUT /_mayfly/clock can stop, set and advance")
	flags.StringVar(&f.seed, "seed", "",
		"file or folder of YAML and JSON to load at the start: databases, containers,\n"+
			"documents, scripts, users, queues; see mayfly seed")
	flags.StringVar(&f.compression, "compression", "fastest",
		"compression of the data on disk: fastest, or balanced (a third smaller)")
	flags.StringVar(&f.logLevel, "log-level", "info",
		"debug (a line for each request, 1,000 a second at most), info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "text", "text or json")
}

// settle derives the settings that depend on others, and returns an error for an invalid setting. sources
// says where the value of each setting comes from.
func (f *serveFlags) settle(sources map[string]cli.SettingSource) error {
	switch memory, data := sources["memory"], sources["data"]; {
	case !f.memory || f.data == "":
	case memory == data:
		return cli.Misuse("--memory keeps nothing and --data names a folder: give one of them")
	case data > memory:
		f.memory = false
	}
	if f.engine != "" && f.memory {
		return cli.Misuse("--memory keeps nothing and --engine names a database: give one of them")
	}
	if f.migrateTo != "" && (f.memory || f.engine != "") {
		return cli.Misuse("--migrate-to copies a data folder: give it without --memory and --engine")
	}
	if f.memory {
		f.data = ""
	} else if f.data == "" {
		dir, err := defaultData()
		if err != nil {
			return err
		}
		f.data = dir
	}
	if err := f.readKeyFile(sources); err != nil {
		return err
	}
	f.applyEmulatorConfig(emulatorConfig)
	if f.key == "" {
		f.key = httpapi.EmulatorKey
	}
	if err := f.servicebus.settle(sources); err != nil {
		return err
	}
	return f.validate()
}

func (f *serveFlags) validate() error {
	if f.host == "" {
		return cli.Misuse("--host is empty: give an address, 0.0.0.0 for every one")
	}
	if err := f.validatePorts(); err != nil {
		return err
	}
	if err := f.validateKey(); err != nil {
		return err
	}
	if err := f.servicebus.checkReach(f); err != nil {
		return err
	}
	if f.noAuth && !loopback(f.host) {
		return cli.Misuse("--no-auth would open the data to the network: it needs a loopback --host, not " +
			strconv.Quote(f.host))
	}
	if u, err := url.Parse(f.advertise); f.advertise != "" &&
		(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return cli.Misuse("--advertise must be a URL such as https://mayfly.example:8081/, not " +
			strconv.Quote(f.advertise))
	}
	if err := httpapi.CheckHosts(f.san); err != nil {
		return cli.Misuse("--san: " + err.Error())
	}
	if err := httpapi.CheckOrigins(f.corsOrigins); err != nil {
		return cli.Misuse("--cors-origin: " + err.Error())
	}
	allow, err := hook.ParseAllow(f.webhookAllow)
	if err != nil {
		return cli.Misuse("--webhook-allow: " + err.Error())
	}
	f.webhooks = allow
	if err := errors.Join(f.limits.validate(), f.signals.validate()); err != nil {
		return err
	}
	if f.ranges < 0 {
		return cli.Misuse(fmt.Sprintf("--ranges %d: must not be negative", f.ranges))
	}
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{
		{"consistency", f.consistency, consistencyLevels},
		{"compression", f.compression, []string{"fastest", "balanced"}},
		{"log-level", f.logLevel, []string{"debug", "info", "warn", "error"}},
		{"log-format", f.logFormat, []string{"text", "json"}},
	} {
		if !slices.Contains(choice.of, choice.value) {
			return cli.Misuse(fmt.Sprintf("--%s %q: must be one of %s", choice.flag, choice.value,
				strings.Join(choice.of, ", ")))
		}
	}
	return nil
}

func (f *serveFlags) validatePorts() error {
	if f.port < 0 || f.port > 65535 {
		return cli.Misuse(fmt.Sprintf("--port %d: a port is 0 to 65535", f.port))
	}
	if _, err := f.compute(); err != nil {
		return err
	}
	_, _, err := f.health()
	return err
}

// validateKey rejects an invalid key. It also rejects the well-known key if other machines can reach the
// server.
func (f *serveFlags) validateKey() error {
	key, err := base64.StdEncoding.DecodeString(f.key)
	if err != nil || len(key) == 0 {
		return cli.Misuse("--key: the key must be base64, for example the output of: openssl rand -base64 64")
	}
	if !f.wellKnownKey() || f.allowWellKnownKey || f.noAuth || loopback(f.host) {
		return nil
	}
	return cli.Misuse("--host " + f.host +
		" can be reached from other machines, and the key is the emulators', which everybody knows: " +
		"give a --key of your own (openssl rand -base64 64), or --allow-well-known-key where only friends " +
		"can reach it")
}

// wellKnownKey reports whether the key is the public one of the emulators, in any spelling.
func (f *serveFlags) wellKnownKey() bool {
	key, err := base64.StdEncoding.DecodeString(f.key)
	return err == nil && base64.StdEncoding.EncodeToString(key) == httpapi.EmulatorKey
}

// compute returns the port of --compute-port, at which the gateway listens in addition to its main port, or 0
// if there is none.
func (f *serveFlags) compute() (int, error) {
	switch f.computePort {
	case "":
		if f.port == cli.DefaultPort {
			return defaultComputePort, nil
		}
		return 0, nil
	case "off":
		return 0, nil
	}
	return portNumber("compute-port", f.computePort)
}

// health returns the port of --health-port, for health probes; on is false if there is none.
func (f *serveFlags) health() (port int, on bool, err error) {
	if f.healthPort == "" || f.healthPort == "off" {
		return 0, false, nil
	}
	port, err = portNumber("health-port", f.healthPort)
	return port, err == nil, err
}

// portNumber parses value, a port number, and returns a usage error that names the flag if it is invalid.
// The caller handles the value "off".
func portNumber(flag, value string) (int, error) {
	port, err := strconv.ParseUint(value, 10, 16)
	if err != nil {
		return 0, cli.Misuse(fmt.Sprintf("--%s %q: must be a port or off", flag, value))
	}
	return int(port), nil
}

func (f *serveFlags) tableCompression() pebble.Compression {
	if f.compression == "balanced" {
		return pebble.Balanced
	}
	return pebble.Fastest
}

// usesIPv6Loopback reports whether the server also listens on ::1, which many clients try first for
// "localhost".
func (f *serveFlags) usesIPv6Loopback() bool { return f.host == defaultHost || f.host == "localhost" }

// loopback reports whether host is reachable from its own machine only.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
