package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/internal/cli"
)

// emulatorVariables is the flag that makes a server read the environment variables of Microsoft's emulators.
// Their names are so general (PORT, LOG_LEVEL) that they may have been set for other programs. So only
// container images, which run nothing else, set the flag.
const emulatorVariables = "emulator-variables"

// emulatorConfig is the path at which users of Microsoft's Service Bus emulator mount the file with its
// entities.
const emulatorConfig = "/ServiceBus_Emulator/ConfigFiles/Config.json"

func registerEmulatorVariables(flags *pflag.FlagSet, on *bool) {
	flags.BoolVar(on, emulatorVariables, false,
		"also read the variables of the official emulators (PORT, KEY_FILE, DATA_PATH, ...); "+
			"flags and MAYFLY_* take precedence")
}

// emulatorVariable is an environment variable of one of Microsoft's emulators: the vnext or the classic
// emulator of Cosmos DB, or that of Service Bus.
type emulatorVariable struct {
	name string
	arg  string // the argument of the vnext emulator with the same meaning; "": there is none
	flag string // the flag of serve with the same meaning; "": there is none

	// read converts the value to that of the flag; an empty result leaves the flag unset. nil: the value is
	// used unchanged.
	read func(value string) (string, error)

	// alternative says how to get the effect of a variable that has no effect here; "": there is nothing to
	// say.
	alternative string
}

// emulatorTable lists the variables that the documentation of the emulators contains. All other variables
// are ignored.
func emulatorTable() []emulatorVariable {
	const oneCertificate = "the server makes its certificate: mayfly cert export"
	return []emulatorVariable{
		{name: "PORT", arg: "port", flag: "port"},
		{name: "PROTOCOL", arg: "protocol"}, // one port answers both HTTP and HTTPS
		{name: "ENABLE_EXPLORER", arg: "enable-explorer"},
		// The second port answers like the first, including the explorer.
		{name: "EXPLORER_PORT", arg: "explorer-port", flag: "compute-port"},
		{name: "EXPLORER_PROTOCOL", arg: "explorer-protocol"},
		{name: "GATEWAY_PUBLIC_ENDPOINT", arg: "gateway-endpoint", flag: "san", read: hostAlone},
		{name: "KEY_FILE", arg: "key-file", flag: "key-file"},
		{name: "DATA_PATH", arg: "data-path", flag: "data"},
		{name: "CERT_PATH", arg: "cert-path", alternative: oneCertificate},
		{name: "CERT_SECRET", alternative: oneCertificate},
		{name: "LOG_LEVEL", arg: "log-level", flag: "log-level", read: emulatorLevel},
		// If it is true, the OTEL_* variables define the target.
		{name: "ENABLE_OTLP_EXPORTER", arg: "enable-otlp", flag: "otlp", read: whenFalse("off")},
		{name: "ENABLE_CONSOLE_EXPORTER", arg: "enable-console"},
		{name: "VERBOSE", arg: "verbose"},
		{name: "QUERY_BUFFER_SIZE_KB", arg: "query-buffer-size"},
		{name: "ENABLE_INIT_DATA", arg: "enable-init-data", alternative: "seeds are files: --seed"},
		{name: "INIT_PATH", arg: "init-path", alternative: "seeds are files: --seed"},
		{name: "ENABLE_TELEMETRY", arg: "enable-telemetry"},

		{name: "AZURE_COSMOS_EMULATOR_KEY", flag: "key"},
		{name: "AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE", flag: "san", read: hostAlone},
		{name: "AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE", flag: "memory", read: whenFalse("true")},
		// limits the number of containers, which is not limited here
		{name: "AZURE_COSMOS_EMULATOR_PARTITION_COUNT"},
		{name: "AZURE_COSMOS_EMULATOR_DEFAULT_PARTITION_COUNT"},
		{name: "AZURE_COSMOS_EMULATOR_ENABLE_DATA_EXPLORER"},
		{name: "AZURE_COSMOS_EMULATOR_ENABLE_MONGODB_ENDPOINT",
			alternative: "there is the API for NoSQL alone"},
		{name: "AZURE_COSMOS_EMULATOR_ARGS", alternative: "mayfly serve --help has the flags"},

		{name: "EMULATOR_HTTP_PORT", flag: "servicebus-admin-port"},
		{name: "ACCEPT_EULA"},
		{name: "SQL_SERVER"},
		{name: "MSSQL_SA_PASSWORD"},
		{name: "SQL_WAIT_INTERVAL"},
	}
}

// hostAlone returns the host from "host", "host:port" or a URL.
func hostAlone(value string) (string, error) {
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		return u.Hostname(), nil
	}
	if host, _, err := net.SplitHostPort(value); err == nil {
		return host, nil
	}
	return value, nil
}

// emulatorLevel returns the log level that is closest to the emulator's.
func emulatorLevel(value string) (string, error) {
	switch value = strings.ToLower(value); value {
	case "quiet":
		return "error", nil
	case "trace":
		return "debug", nil
	}
	return value, nil
}

// whenFalse returns a function that converts the value of a boolean environment variable to the value of a
// flag: false becomes the text flag, and true becomes "".
func whenFalse(flag string) func(string) (string, error) {
	return func(value string) (string, error) {
		on, err := strconv.ParseBool(strings.ToLower(value))
		if on {
			return "", err
		}
		return flag, err
	}
}

// applyServeVariables sets the flags that the command line does not set from environment variables: each flag
// from the variable that Mayfly has for it and, with --emulator-variables, from that of Microsoft's
// emulators. lookup has the meaning of os.LookupEnv. The result says where the value of each flag comes from.
func applyServeVariables(flags *pflag.FlagSet,
	lookup func(string) (string, bool)) (map[string]cli.SettingSource, error) {
	sources, err := cli.ApplyVariables(flags, lookup)
	if on, _ := flags.GetBool(emulatorVariables); err == nil && on {
		err = applyEmulatorVariables(flags, lookup, sources)
	}
	return sources, err
}

// applyEmulatorVariables sets flags from the environment variables of Microsoft's emulators: those flags
// that neither the command line nor one of Mayfly's own variables has set. A flag that is a list gets the
// value as one more member even if it is set.
func applyEmulatorVariables(flags *pflag.FlagSet, lookup func(string) (string, bool),
	sources map[string]cli.SettingSource) error {
	for _, v := range emulatorTable() {
		value, ok := lookup(v.name)
		f := flags.Lookup(v.flag)
		if !ok || value == "" || f == nil {
			continue
		}
		if v.read != nil {
			var err error
			if value, err = v.read(value); err != nil {
				return cli.BadValue(f, v.name, value, err)
			}
		}
		list, isList := f.Value.(pflag.SliceValue)
		switch _, set := sources[v.flag]; {
		case value == "":
		case isList:
			if err := list.Append(value); err != nil {
				return cli.BadValue(f, v.name, value, err)
			}
		case !set:
			if err := f.Value.Set(value); err != nil {
				return cli.BadValue(f, v.name, value, err)
			}
			sources[v.flag] = cli.FromEmulator
		}
	}
	return nil
}

// emulatorArguments converts the arguments of the vnext emulator's containers (--protocol https). Arguments
// that serve has under the same name are kept; the others are returned as values of the corresponding
// variables. Unknown arguments are kept.
func emulatorArguments(args []string) (own []string, variables map[string]string) {
	own, variables = []string{"serve"}, map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		at := slices.IndexFunc(emulatorTable(), func(v emulatorVariable) bool {
			return v.arg != "" && name == "--"+v.arg
		})
		if at < 0 || emulatorTable()[at].arg == emulatorTable()[at].flag {
			own = append(own, args[i])
			continue
		}
		if next := i + 1; !given && next < len(args) && !strings.HasPrefix(args[next], "--") {
			value, given, i = args[next], true, next
		}
		if !given {
			value = "true"
		}
		variables[emulatorTable()[at].name] = value
	}
	return own, variables
}

// convertEmulatorArguments returns the arguments of serve for a container that is started with the vnext
// emulator's arguments, which are options without a command. Other arguments stay unchanged.
func convertEmulatorArguments(args []string) []string {
	if os.Getenv(cli.Variable(emulatorVariables)) != "true" || len(args) == 0 ||
		!strings.HasPrefix(args[0], "--") || args[0] == "--help" || args[0] == "--version" {
		return args
	}
	own, variables := emulatorArguments(args)
	for name, value := range variables {
		os.Setenv(name, value)
	}
	return own
}

// printEmulator prints, after the lines about the server, the texts by which Microsoft's Testcontainers
// modules detect that an emulator is ready.
func (s *serveCommandState) printEmulator(w io.Writer) {
	fmt.Fprintf(w, "Now listening on: https://%s\nStarted\n", s.authority(portOf(s.listeners[0])))
}

// logIgnoredVariables logs which of the emulators' variables are set but have no effect.
func logIgnoredVariables(log *slog.Logger, lookup func(string) (string, bool)) {
	var idle []string
	for _, v := range emulatorTable() {
		switch value, ok := lookup(v.name); {
		case !ok || value == "" || v.flag != "":
		case v.alternative != "":
			log.Warn("a variable of the official emulators is not supported", "variable", v.name, "instead",
				v.alternative)
		default:
			idle = append(idle, v.name)
		}
	}
	if len(idle) > 0 {
		log.Info("variables of the official emulators that have no effect", "variables", strings.Join(idle,
			" "))
	}
}

// applyEmulatorConfig makes the server create the entities that the file config defines, if that file exists,
// the server reads the emulators' variables, and the user has named no other file. config is the path at
// which users of the Service Bus emulator mount the file.
func (f *serveFlags) applyEmulatorConfig(config string) {
	bus := &f.servicebus
	if !f.emulatorVariables || !bus.on || bus.config != "" {
		return
	}
	if info, err := os.Stat(config); err == nil && info.Mode().IsRegular() {
		bus.config = config
	}
}

// maxKeyFile is the maximum size in bytes of a file with the master key (--key-file). A larger file is not a
// key.
const maxKeyFile = 4096

// readKeyFile sets --key to the content of --key-file. If both are given, the one whose source has the
// higher precedence counts.
func (f *serveFlags) readKeyFile(sources map[string]cli.SettingSource) error {
	if f.keyFile == "" || f.key != "" && sources["key"] > sources["key-file"] {
		return nil
	}
	if f.key != "" && sources["key"] == sources["key-file"] {
		return cli.Misuse("--key and --key-file both give the key: give one of them")
	}
	file, err := os.Open(f.keyFile)
	if err != nil {
		return cli.Misuse("--key-file: " + err.Error())
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	if err != nil {
		return fmt.Errorf("--key-file: %w", err)
	}
	if f.key = strings.TrimSpace(string(text)); f.key == "" {
		return cli.Misuse("--key-file " + f.keyFile + " is empty")
	}
	return nil
}
