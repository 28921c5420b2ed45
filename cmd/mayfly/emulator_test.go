package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/internal/cli"
)

const otherKey = "b3RoZXIta2V5LW9mLXRoZS10ZXN0cw=="

// TestEmulatorVariables checks that the environment variables of Microsoft's emulators set the
// corresponding flags, and that flags and Mayfly's own variables take precedence over them.
func TestEmulatorVariables(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(otherKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const persistence = "AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE"
	type settings = map[string]string
	for name, c := range map[string]struct {
		args []string
		env  settings
		want func(f *serveFlags) bool
	}{
		"port": {nil, settings{"PORT": "9000"}, func(f *serveFlags) bool { return f.port == 9000 }},
		"flag wins": {[]string{"--port", "1"}, settings{"PORT": "9000"},
			func(f *serveFlags) bool { return f.port == 1 }},
		"own wins": {nil, settings{"PORT": "9000", "MAYFLY_PORT": "2"},
			func(f *serveFlags) bool { return f.port == 2 }},
		"explorer": {nil, settings{"EXPLORER_PORT": "1234"},
			func(f *serveFlags) bool { return f.computePort == "1234" }},
		"key file": {nil, settings{"KEY_FILE": key}, func(f *serveFlags) bool { return f.key == otherKey }},
		"key wins": {nil, settings{"KEY_FILE": key, "MAYFLY_KEY": httpapi.EmulatorKey},
			func(f *serveFlags) bool { return f.wellKnownKey() }},
		"classic key": {nil, settings{"AZURE_COSMOS_EMULATOR_KEY": otherKey},
			func(f *serveFlags) bool { return f.key == otherKey }},
		"data": {nil, settings{"DATA_PATH": "/d"}, func(f *serveFlags) bool { return f.data == "/d" }},
		"memory wins": {[]string{"--memory"}, settings{"DATA_PATH": "/d"},
			func(f *serveFlags) bool { return f.memory }},
		"not persistent": {nil, settings{persistence: "False"}, func(f *serveFlags) bool { return f.memory }},
		"persistent": {nil, settings{persistence: "true"},
			func(f *serveFlags) bool { return !f.memory && f.data != "" }},
		"level": {nil, settings{"LOG_LEVEL": "TRACE"},
			func(f *serveFlags) bool { return f.logLevel == "debug" }},
		"quiet": {nil, settings{"LOG_LEVEL": "quiet"},
			func(f *serveFlags) bool { return f.logLevel == "error" }},
		"no telemetry": {nil, settings{"ENABLE_OTLP_EXPORTER": "false"},
			func(f *serveFlags) bool { return f.signals.otlp == "off" }},
		"telemetry by OTEL": {nil, settings{"ENABLE_OTLP_EXPORTER": "true"},
			func(f *serveFlags) bool { return f.signals.otlp == "" }},
		"management port": {nil, settings{"EMULATOR_HTTP_PORT": "5400"},
			func(f *serveFlags) bool { return f.servicebus.ports[1].port == 5400 }},
		"names add up": {nil, settings{"MAYFLY_SAN": "a", "GATEWAY_PUBLIC_ENDPOINT": "https://b:8081/",
			"AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE": "192.0.2.7"},
			func(f *serveFlags) bool { return slices.Equal(f.san, []string{"a", "b", "192.0.2.7"}) }},
	} {
		f, err := parse(append(c.args, "--emulator-variables"), c.env)
		if err != nil || !c.want(&f) {
			t.Errorf("%s: %v, %+v", name, err, f)
		}
	}
	f, err := parse(nil, settings{"PORT": "9000", "KEY_FILE": "/nowhere"})
	if err != nil || f.port != cli.DefaultPort {
		t.Errorf("taken without being asked to: %v, %+v", err, f)
	}
}

// TestEmulatorVariablesRefused checks that the error for an invalid value of an emulator's environment
// variable contains the name or the value that the user gave.
func TestEmulatorVariablesRefused(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"PORT": "http", "KEY_FILE": "/nowhere/at/all",
		"AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE": "maybe", "ENABLE_OTLP_EXPORTER": "2"} {
		_, err := parse([]string{"--emulator-variables"}, map[string]string{name: value})
		if err == nil || !strings.Contains(err.Error(), value) && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parse([]string{"--key", otherKey, "--key-file", "x"}, nil); err == nil {
		t.Error("a key and a file with one are taken together")
	}
}

// TestEmulatorVariablesWithoutEffect checks what is logged about environment variables of the emulators that
// have no effect: one line lists those that are not needed, and one line each names those with an
// alternative.
func TestEmulatorVariablesWithoutEffect(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	env := map[string]string{"ACCEPT_EULA": "Y", "SQL_SERVER": "sql", "CERT_PATH": "/c.pfx", "PORT": "9000",
		"VERBOSE": ""}
	logIgnoredVariables(newLogger(&log, "info", "text"), func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
	out := log.String()
	if strings.Count(out, "\n") != 2 || !strings.Contains(out, `variables="ACCEPT_EULA SQL_SERVER"`) ||
		!strings.Contains(out, "variable=CERT_PATH") || strings.Contains(out, "PORT") {
		t.Error(out)
	}
}

// TestEmulatorConfig checks when the server reads the file at the path at which users of the Service Bus
// emulator mount their entities: if it reads emulator variables, serves queues, and has been given no
// other file.
func TestEmulatorConfig(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "Config.json")
	if err := os.WriteFile(config, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]serveFlags{
		config:  {emulatorVariables: true, servicebus: servicebusFlags{on: true}},
		"other": {emulatorVariables: true, servicebus: servicebusFlags{on: true, config: "other"}},
		"":      {emulatorVariables: true},
	} {
		if f.applyEmulatorConfig(config); f.servicebus.config != want {
			t.Errorf("%q, want %q", f.servicebus.config, want)
		}
	}
}

// TestEmulatorArguments checks that a container started with the arguments of the vnext emulator of Cosmos
// DB runs `mayfly serve` with the corresponding settings.
func TestEmulatorArguments(t *testing.T) {
	t.Setenv("MAYFLY_EMULATOR_VARIABLES", "true")
	for _, name := range []string{"PROTOCOL", "ENABLE_EXPLORER", "DATA_PATH", "EXPLORER_PORT"} {
		t.Setenv(name, "before")
	}
	for _, c := range []struct{ given, want, set string }{
		{"--protocol https --port 9000", "serve --port 9000", "PROTOCOL=https"},
		{"--enable-explorer --data-path=/d", "serve", "ENABLE_EXPLORER=true DATA_PATH=/d"},
		{"--memory --explorer-port 1 --seed s", "serve --memory --seed s", "EXPLORER_PORT=1"},
		{"serve --protocol x", "serve --protocol x", ""},
		{"--version", "--version", ""},
		{"", "", ""},
	} {
		if got := strings.Join(convertEmulatorArguments(strings.Fields(c.given)), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.given, got, c.want)
		}
		for _, pair := range strings.Fields(c.set) {
			name, value, _ := strings.Cut(pair, "=")
			if got := os.Getenv(name); got != value {
				t.Errorf("%s: %s is %q", c.given, name, got)
			}
		}
	}
	t.Setenv("MAYFLY_EMULATOR_VARIABLES", "")
	if got := convertEmulatorArguments([]string{"--protocol"}); len(got) != 1 {
		t.Errorf("taken without being asked to: %v", got)
	}
}
