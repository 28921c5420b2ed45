//go:build upstream

package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// azservicebus is the module path of the Go SDK for Service Bus.
const azservicebus = "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

// TestUpstreamGo runs the tests that are part of the module of the Go SDK for Service Bus. Each package is
// tested with its own server.
func TestUpstreamGo(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	found, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", azservicebus).Output()
	must(t, err)
	must(t, os.CopyFS(module, os.DirFS(strings.TrimSpace(string(found)))))
	expected := readExpectations(t, filepath.Join("upstream", "go-servicebus", "expected-fail.txt"))
	for pkg, address := range map[string]string{".": "127.0.0.21", "admin": "127.0.0.22", "internal": "127.0.0.23"} {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			mine := map[string]expectedFailure{}
			for name, e := range expected {
				if p, test, _ := strings.Cut(name, " "); p == pkg {
					mine[test] = e
				}
			}
			judge(t, goPackage(t, module, pkg, address), mine)
		})
	}
}

// goPackage runs the tests of one package of the module, which is in the folder module, and returns their
// results. It starts a server on address: the SDK's tests use fixed ports, so each server has a loopback
// address of its own.
func goPackage(t *testing.T, module, pkg, address string) map[string]testResult {
	t.Helper()
	s := startAt(t, address, append([]string{"--memory", "--servicebus", "--servicebus-port", "off",
		"--servicebus-admin-port", "off", "--servicebus-tls-port", "5671", "--servicebus-admin-tls-port", "443",
		"--servicebus-config", filepath.Join("upstream", "go-servicebus", "Config.json")}, upstreamKeys...)...)
	cert := filepath.Join(t.TempDir(), "mayfly.pem")
	must(t, os.WriteFile(cert, get(t, s.URL("http")+"_mayfly/cert.pem"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), upstreamTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-vet=off", "-mod=mod",
		"-timeout", upstreamTime.String(), "./"+pkg)
	cmd.Dir = module
	connection := func(key string) string {
		return "=Endpoint=sb://" + address + ";SharedAccessKeyName=" + key + ";SharedAccessKey=" + rootKey
	}
	cmd.Env = append(append(os.Environ(), identity(t)...),
		"AZURE_RECORD_MODE=live", "SSL_CERT_FILE="+cert,
		"SERVICEBUS_ENDPOINT="+address, "SERVICEBUS_ENDPOINT_PREMIUM="+address,
		"SERVICEBUS_CONNECTION_STRING"+connection("RootManageSharedAccessKey"),
		"SERVICEBUS_CONNECTION_STRING_PREMIUM"+connection("RootManageSharedAccessKey"),
		"SERVICEBUS_CONNECTION_STRING_NO_MANAGE"+connection("NoManage"),
		"SERVICEBUS_CONNECTION_STRING_SEND_ONLY"+connection("SendOnly"),
		"SERVICEBUS_CONNECTION_STRING_LISTEN_ONLY"+connection("ListenOnly"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	verdicts := goVerdicts(t, bytes.NewReader(out))
	if ctx.Err() != nil || len(verdicts) == 0 {
		t.Errorf("%d tests ran, not all of them: %v\n%s\n%s", len(verdicts), err, out, &stderr)
	}
	return verdicts
}

// goVerdicts parses the output of "go test -json" to a map from the names of tests to their results.
// Subtests are part of their test.
func goVerdicts(t *testing.T, events io.Reader) map[string]testResult {
	t.Helper()
	verdicts, output := map[string]testResult{}, map[string]string{}
	for d := json.NewDecoder(events); ; {
		var e struct{ Action, Test, Output string }
		err := d.Decode(&e)
		if errors.Is(err, io.EOF) {
			return verdicts
		}
		must(t, err)
		name, _, sub := strings.Cut(e.Test, "/")
		switch {
		case name == "":
		case e.Action == "output":
			output[name] += e.Output
		case !sub && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
			verdicts[name] = testResult{e.Action, output[name]}
			delete(output, name)
		}
	}
}
