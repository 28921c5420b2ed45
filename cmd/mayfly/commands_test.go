package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/pebble"
)

func TestVersion(t *testing.T) {
	code, out, _ := mayfly(t, "version")
	if want := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"; code != 0 || !strings.HasPrefix(out, "mayfly ") || !strings.HasSuffix(out, want) {
		t.Errorf("%d %q", code, out)
	}
}

func TestHealth(t *testing.T) {
	b := boot(t, "--memory")
	_, port, _ := strings.Cut(b.host, ":")
	for _, args := range [][]string{
		{"health", "--url", "http://" + b.host},
		{"health", "--url", "http://" + b.host + "/"},
		{"health", "--port", port},
		{"health", "--port", port, "--host", "0.0.0.0"},
	} {
		if code, out, errs := mayfly(t, args...); code != 0 || out != "ready\n" {
			t.Errorf("%v: %d %s%s", args, code, out, errs)
		}
	}
	t.Setenv("MAYFLY_PORT", port)
	if code, _, errs := mayfly(t, "health"); code != 0 {
		t.Errorf("by the variable: %d %s", code, errs)
	}
	b.stop(t)
	if code, _, errs := mayfly(t, "health"); code != exitFailed || !strings.Contains(errs, "not ready") {
		t.Errorf("after the end: %d %s", code, errs)
	}
	sick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "disk full", http.StatusServiceUnavailable)
	}))
	defer sick.Close()
	if code, _, errs := mayfly(t, "health", "--url", sick.URL); code != exitFailed || !strings.Contains(errs, "disk full") {
		t.Errorf("a server that is not ready: %d %s", code, errs)
	}
}

// TestCheckReportsOrphanedKeys checks that `mayfly check` reports keys that belong to no existing container:
// it prints the first hundred of them in full and counts the rest.
func TestCheckReportsOrphanedKeys(t *testing.T) {
	t.Parallel()
	dir := used(t)
	e, err := pebble.Open(t.Context(), pebble.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const strays = 150
	scope := []byte{0xEE}
	_, err = e.Update(t.Context(), [][]byte{scope}, func(tx engine.Txn) error {
		for i := range strays {
			tx.Set([]byte{0xEE, 0, 0, byte(i), 'x'}, nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, errs := mayfly(t, "check", dir)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitFailed || len(lines) != maxPrinted+3 || lines[0] != "format 3" ||
		!strings.Contains(errs, "inconsistent") {
		t.Fatalf("check: %d, %d lines: %s%s", code, len(lines), out, errs)
	}
	end := lines[maxPrinted+1:]
	if end[0] != "... and 50 more" || !strings.HasSuffix(end[1], ": 150 violations") {
		t.Errorf("the end: %q", end)
	}
}

// TestServeWithCanceledContext checks that `mayfly serve` does not start if its context has been canceled
// already.
func TestServeWithCanceledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs lockedBuffer
	if code := execute(ctx, []string{"serve", "--memory", "--port", "0"}, &out, &errs); code == 0 {
		t.Errorf("exit code 0: %s%s", &out, &errs)
	}
}
