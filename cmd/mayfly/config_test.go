package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/internal/cli"
)

// parse returns the settings of `mayfly serve` that result from the flags in args and the environment
// variables in env.
func parse(args []string, env map[string]string) (serveFlags, error) {
	var f serveFlags
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.register(flags)
	if err := flags.Parse(args); err != nil {
		return f, err
	}
	sources, err := applyServeVariables(flags, func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
	if err != nil {
		return f, err
	}
	return f, f.settle(sources)
}

func TestFlagsOverrideVariables(t *testing.T) {
	t.Parallel()
	env := map[string]string{"MAYFLY_PORT": "1000", "MAYFLY_MEMORY": "true", "MAYFLY_LOG_LEVEL": "debug", "MAYFLY_SAN": "a,b", "MAYFLY_KEY": ""}
	f, err := parse([]string{"--port", "2000"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if f.port != 2000 || !f.memory || f.logLevel != "debug" || !slices.Equal(f.san, []string{"a", "b"}) || f.key == "" || f.host != defaultHost {
		t.Errorf("got %+v", f)
	}
	if f, err = parse([]string{"--memory"}, map[string]string{"MAYFLY_PORT": "tcp://10.0.0.1:8081"}); err != nil || f.port != cli.DefaultPort {
		t.Errorf("the variable of a Kubernetes service: port %d, %v", f.port, err)
	}
}

// TestMisspelledVariables checks that a warning is logged for an environment variable whose name is almost
// that of a setting, such as MAYFLY_MEMROY, and for no other variable.
func TestMisspelledVariables(t *testing.T) {
	t.Parallel()
	var f serveFlags
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.register(flags)
	var log bytes.Buffer
	cli.WarnMisspelled(newLogger(&log, "info", "text"), flags, []string{"MAYFLY_VIRTUALCLOCK=true",
		"MAYFLY_MEMROY=1", "MAYFLY_MEMORY=true", "MAYFLY_URL=http://x", "MAYFLY_VERSION=1", "MAYFLY_DB=shop",
		"MAYFLY_SERVICE_PORT=8081", "MAYFLY_PORT_8081_TCP=tcp://10.0.0.1:8081", "MAYFLY_=", "PATH=/bin"})
	told := log.String()
	for _, want := range []string{"variable=MAYFLY_VIRTUALCLOCK meant=MAYFLY_VIRTUAL_CLOCK",
		"variable=MAYFLY_MEMROY meant=MAYFLY_MEMORY"} {
		if !strings.Contains(told, want) {
			t.Errorf("no %s in %s", want, told)
		}
	}
	if strings.Count(told, "\n") != 2 {
		t.Error(told)
	}
}

// TestMemoryOrData checks that --memory and --data exclude each other when both come from flags or both
// from environment variables. Otherwise the flag takes precedence over the variable.
func TestMemoryOrData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		env  map[string]string
		want string // "memory", a folder, or "error"
	}{
		{[]string{"--memory"}, nil, "memory"},
		{[]string{"--data", "d"}, nil, "d"},
		{[]string{"--memory", "--data", "d"}, nil, "error"},
		{nil, map[string]string{"MAYFLY_MEMORY": "1", "MAYFLY_DATA": "d"}, "error"},
		{[]string{"--memory"}, map[string]string{"MAYFLY_DATA": "d"}, "memory"},
		{[]string{"--data", "d"}, map[string]string{"MAYFLY_MEMORY": "1"}, "d"},
	} {
		f, err := parse(c.args, c.env)
		got := f.data
		if f.memory {
			got = "memory"
		}
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%v %v: %s, want %s (%v)", c.args, c.env, got, c.want, err)
		}
	}
}

// TestRequestLimitSettings checks the settings that limit the time and memory of requests: given as flags, as
// environment variables, by default, and with invalid values.
func TestRequestLimitSettings(t *testing.T) {
	t.Parallel()
	f, err := parse([]string{"--memory-in-flight", "1 gb"}, map[string]string{"MAYFLY_QUERY_TIME": "1m", "MAYFLY_SCRIPT_TIME": "2s"})
	if want := (limitFlags{time.Minute, 2 * time.Second, 1 << 30, 16 << 20}); err != nil || f.limits != want {
		t.Errorf("%+v, %v", f.limits, err)
	}
	if f, err = parse(nil, nil); err != nil || f.limits != (limitFlags{30 * time.Second, 5 * time.Second, 256 << 20, 16 << 20}) {
		t.Errorf("%+v, %v", f.limits, err)
	}
	for flag, value := range map[string]string{"query-time": "1ms", "script-time": "2h", "memory-in-flight": "9MB", "requests-memory": "1KB"} {
		var usage *cli.UsageError
		if _, err := parse([]string{"--" + flag, value}, nil); !errors.As(err, &usage) || !strings.Contains(usage.Error(), "--"+flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	for _, value := range []string{"", "much", "-1", "99999999999GB"} {
		if _, err := parse([]string{"--memory-in-flight", value}, nil); err == nil {
			t.Errorf("%q is taken", value)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
	for _, args := range [][]string{
		{"serve", "--nonsense"},
		{"serve", "--host", ""},
		{"serve", "--port", "x"},
		{"serve", "--port", "70000"},
		{"serve", "--compute-port", "x"},
		{"serve", "--health-port", "x"},
		{"serve", "--health-port", "70000"},
		{"serve", "--key", "not base64!"},
		{"serve", "--no-auth", "--host", "0.0.0.0"},
		{"serve", "--no-auth", "--host", "192.0.2.1"},
		{"serve", "--host", "0.0.0.0"},
		{"serve", "--host", "::"},
		{"serve", "--host", "mayfly.example"},
		{"serve", "--host", "192.0.2.1", "--key", httpapi.EmulatorKey},
		{"serve", "--host", "192.0.2.1", "--key", httpapi.EmulatorKey + "\n"},
		{"serve", "--cors-origin", "page.example"},
		{"serve", "--san", "https://mayfly.test"},
		{"serve", "--san", "mayfly.test:8081"},
		{"serve", "--san", "a.test,a b"},
		{"serve", "--san", "a.*.test"},
		{"serve", "--cors-origin", "http://localhost:3000,https://page.example/path"},
		{"serve", "--webhook-allow", "10.0.0.0/33"},
		{"serve", "--webhook-allow", "http://localhost:9000"},
		{"serve", "--consistency", "Perfect"},
		{"serve", "--advertise", "localhost"},
		{"serve", "--ranges", "-1"},
		{"serve", "--log-level", "loud"},
		{"serve", "--log-format", "xml"},
		{"serve", "--compression", "none"},
		{"serve", "--memory", "--data", "x"},
		{"serve", "extra"},
		{"check"},
		{"health", "--url", "http://bad host/"},
		{"nonsense"},
	} {
		code, out, errs := mayfly(t, args...)
		if code != exitUsage || out != "" || !strings.HasPrefix(errs, "mayfly: ") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit code %d, want %d; stdout %q; stderr %q", args, code, exitUsage, out, errs)
		}
	}
	if _, _, errs := mayfly(t, "serve", "--host", "0.0.0.0"); !strings.Contains(errs, "--key of your own") || !strings.Contains(errs, "--allow-well-known-key") {
		t.Errorf("the refusal does not tell both ways out: %s", errs)
	}
	t.Setenv("MAYFLY_PORT", "many")
	if code, _, errs := mayfly(t, "serve"); code != exitUsage || !strings.Contains(errs, "MAYFLY_PORT") {
		t.Errorf("bad variable: %d %q", code, errs)
	}
}

func TestComputeDefault(t *testing.T) {
	t.Parallel()
	for want, args := range map[int][]string{
		defaultComputePort: {"--memory"},
		0:                  {"--memory", "--port", "9000"},
		7:                  {"--memory", "--port", "9000", "--compute-port", "7"},
	} {
		f, err := parse(args, nil)
		if got, _ := f.compute(); err != nil || got != want {
			t.Errorf("%v: %d, %v", args, got, err)
		}
	}
	for _, off := range []string{"off", "0"} {
		f, err := parse([]string{"--memory", "--compute-port", off}, nil)
		if got, _ := f.compute(); err != nil || got != 0 {
			t.Errorf("%s: %d, %v", off, got, err)
		}
	}
}

func TestDataFolder(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	xdg := filepath.Join(t.TempDir(), "xdg")
	for _, c := range []struct {
		goos, variable, value, want string
	}{
		{"linux", "", "", filepath.Join(home, ".local", "share", "mayfly")},
		{"linux", "XDG_DATA_HOME", xdg, filepath.Join(xdg, "mayfly")},
		{"linux", "XDG_DATA_HOME", "relative", filepath.Join(home, ".local", "share", "mayfly")},
		{"darwin", "XDG_DATA_HOME", xdg, filepath.Join(home, "Library", "Application Support", "Mayfly")},
		{"windows", "LocalAppData", xdg, filepath.Join(xdg, "Mayfly")},
		{"windows", "", "", ""},
	} {
		getenv := func(name string) string {
			if name == c.variable {
				return c.value
			}
			return ""
		}
		if got := dataFolder(c.goos, getenv, home); got != c.want {
			t.Errorf("%s %s=%s: %s, want %s", c.goos, c.variable, c.value, got, c.want)
		}
	}
	if got := dataFolder("linux", func(string) string { return "" }, ""); got != "" {
		t.Errorf("without a home: %s", got)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), exitFailed},
		{cli.Misuse("x"), exitUsage},
		{&listenError{address: "a", err: syscall.EADDRINUSE}, exitPort},
		{&listenError{address: "a", err: fs.ErrPermission}, exitPort},
		{engine.ErrLocked, exitLocked},
		{engine.ErrCorrupt, exitData},
		{engine.ErrNewerFormat, exitData},
		{engine.ErrOlderFormat, exitData},
		{engine.ErrNotDatabase, exitData},
		{engine.ErrDiskFull, exitDisk},
		{engine.ErrFailed, exitDisk},
		{&fs.PathError{Op: "mkdir", Path: "d", Err: syscall.EACCES}, exitDisk},
		{&fs.PathError{Op: "mkdir", Path: "d", Err: syscall.EROFS}, exitDisk},
	} {
		f := &cli.CommandError{Err: errors.Join(fmt.Errorf("opening: %w", c.err), nil)}
		if got := exitCode(f); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
