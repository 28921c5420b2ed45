package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// emulatorVariables is the flag that makes a server take the variables of the official emulators. They are
// named so plainly (PORT, LOG_LEVEL) that a shell may have them for other programs: only an image, where
// nothing else runs, has the flag on.
const emulatorVariables = "emulator-variables"

// emulatorConfig is where the Service Bus emulator has its entities, as its users mount them.
const emulatorConfig = "/ServiceBus_Emulator/ConfigFiles/Config.json"

func registerEmulatorVariables(flags *pflag.FlagSet, on *bool) {
	flags.BoolVar(on, emulatorVariables, false,
		"take the variables of the official emulators, too (PORT, KEY_FILE, DATA_PATH, ...); "+
			"flags and MAYFLY_* win over them")
}

// emulatorVariable is a variable of an official emulator: the vnext and the classic one of Cosmos DB, and that
// of Service Bus.
type emulatorVariable struct {
	name string
	flag string // that has its meaning; "": nothing has

	// read makes the flag's value; an empty one is not set. nil takes the variable as it is.
	read func(value string) (string, error)

	// missed tells, where a user may miss what the variable asks for, how it is had here.
	missed string
}

// emulatorTable are the variables in the emulators' documentation. What is not in it is nobody's.
func emulatorTable() []emulatorVariable {
	const oneCertificate = "the server makes its certificate: mayfly cert export"
	return []emulatorVariable{
		{name: "PORT", flag: "port"},
		{name: "PROTOCOL"}, // one port answers HTTP and HTTPS
		{name: "ENABLE_EXPLORER"},
		{name: "EXPLORER_PORT", flag: "compute-port"}, // answers like the first: the explorer is there, too
		{name: "EXPLORER_PROTOCOL"},
		{name: "GATEWAY_PUBLIC_ENDPOINT", flag: "san", read: hostAlone},
		{name: "KEY_FILE", flag: "key-file"},
		{name: "DATA_PATH", flag: "data"},
		{name: "CERT_PATH", missed: oneCertificate},
		{name: "CERT_SECRET", missed: oneCertificate},
		{name: "LOG_LEVEL", flag: "log-level", read: emulatorLevel},
		{name: "ENABLE_OTLP_EXPORTER", flag: "otlp", read: whenFalse("off")}, // true: OTEL_* say where to
		{name: "ENABLE_CONSOLE_EXPORTER"},
		{name: "VERBOSE"},
		{name: "QUERY_BUFFER_SIZE_KB"},
		{name: "ENABLE_INIT_DATA", missed: "seeds are files: --seed"},
		{name: "INIT_PATH", missed: "seeds are files: --seed"},
		{name: "ENABLE_TELEMETRY"},

		{name: "AZURE_COSMOS_EMULATOR_KEY", flag: "key"},
		{name: "AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE", flag: "san", read: hostAlone},
		{name: "AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE", flag: "memory", read: whenFalse("true")},
		{name: "AZURE_COSMOS_EMULATOR_PARTITION_COUNT"}, // bounds containers, which are not bounded here
		{name: "AZURE_COSMOS_EMULATOR_DEFAULT_PARTITION_COUNT"},
		{name: "AZURE_COSMOS_EMULATOR_ENABLE_DATA_EXPLORER"},
		{name: "AZURE_COSMOS_EMULATOR_ENABLE_MONGODB_ENDPOINT", missed: "there is the API for NoSQL alone"},
		{name: "AZURE_COSMOS_EMULATOR_ARGS", missed: "mayfly serve --help has the flags"},

		{name: "EMULATOR_HTTP_PORT", flag: "servicebus-admin-port"},
		{name: "ACCEPT_EULA"},
		{name: "SQL_SERVER"},
		{name: "MSSQL_SA_PASSWORD"},
		{name: "SQL_WAIT_INTERVAL"},
	}
}

// hostAlone is the host of "host", "host:port" or a URL.
func hostAlone(value string) (string, error) {
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		return u.Hostname(), nil
	}
	if host, _, err := net.SplitHostPort(value); err == nil {
		return host, nil
	}
	return value, nil
}

// emulatorLevel is the level of the log that is nearest to the emulator's.
func emulatorLevel(value string) (string, error) {
	switch value = strings.ToLower(value); value {
	case "quiet":
		return "error", nil
	case "trace":
		return "debug", nil
	}
	return value, nil
}

// whenFalse sets a flag where the variable is false, and leaves it alone where that is true.
func whenFalse(flag string) func(string) (string, error) {
	return func(value string) (string, error) {
		on, err := strconv.ParseBool(strings.ToLower(value))
		if on {
			return "", err
		}
		return flag, err
	}
}

// applyEmulatorVariables sets those of the flags that neither the command line nor a variable of Mayfly's own
// has set. A list gets one member more in any case.
func applyEmulatorVariables(flags *pflag.FlagSet, lookup func(string) (string, bool),
	sources map[string]source) error {
	for _, v := range emulatorTable() {
		value, ok := lookup(v.name)
		f := flags.Lookup(v.flag)
		if !ok || value == "" || f == nil {
			continue
		}
		if v.read != nil {
			var err error
			if value, err = v.read(value); err != nil {
				return badValue(f, v.name, value, err)
			}
		}
		list, isList := f.Value.(pflag.SliceValue)
		switch _, set := sources[v.flag]; {
		case value == "":
		case isList:
			if err := list.Append(value); err != nil {
				return badValue(f, v.name, value, err)
			}
		case !set:
			if err := f.Value.Set(value); err != nil {
				return badValue(f, v.name, value, err)
			}
			sources[v.flag] = fromEmulator
		}
	}
	return nil
}

// tellEmulatorVariables names those variables of the emulators that are set and have no meaning here.
func tellEmulatorVariables(log *slog.Logger, lookup func(string) (string, bool)) {
	var idle []string
	for _, v := range emulatorTable() {
		switch value, ok := lookup(v.name); {
		case !ok || value == "" || v.flag != "":
		case v.missed != "":
			log.Warn("a variable of the emulators is not taken", "variable", v.name, "instead", v.missed)
		default:
			idle = append(idle, v.name)
		}
	}
	if len(idle) > 0 {
		log.Info("variables of the emulators that are not needed here", "variables", strings.Join(idle, " "))
	}
}

// settleEmulator takes the entities of the Service Bus emulator where its users mount them.
func (f *serveFlags) settleEmulator(config string) {
	bus := &f.servicebus
	if !f.emulatorVariables || !bus.on || bus.config != "" {
		return
	}
	if info, err := os.Stat(config); err == nil && info.Mode().IsRegular() {
		bus.config = config
	}
}

// maxKeyFile is more than any key takes.
const maxKeyFile = 4096

// readKeyFile puts the content of --key-file in the place of --key. What was given nearer to the command line
// wins.
func (f *serveFlags) readKeyFile(sources map[string]source) error {
	if f.keyFile == "" || f.key != "" && sources["key"] > sources["key-file"] {
		return nil
	}
	if f.key != "" && sources["key"] == sources["key-file"] {
		return &usageError{"--key and --key-file both give the key: give one of them"}
	}
	file, err := os.Open(f.keyFile)
	if err != nil {
		return &usageError{"--key-file: " + err.Error()}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	if err != nil {
		return fmt.Errorf("--key-file: %w", err)
	}
	if f.key = strings.TrimSpace(string(text)); f.key == "" {
		return &usageError{"--key-file " + f.keyFile + " is empty"}
	}
	return nil
}
