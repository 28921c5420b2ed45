//go:build !wasip1

package simulation_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/mayflydb/mayfly/internal/simulation"
)

// wasmSimulationRunner runs simulations in a WebAssembly runtime, each in an instance of its own. The program
// in the sandbox is the test binary of this package, compiled for wasip1. See "What a seed determines" in
// doc.go.
type wasmSimulationRunner struct {
	ctx     context.Context
	runtime wazero.Runtime
	module  wazero.CompiledModule
}

// newSandbox compiles this package's tests to WebAssembly and loads the program into a sandbox, in which
// simulations run. That takes about as long as a build of the tests.
func newSandbox(t *testing.T) *wasmSimulationRunner {
	t.Helper()
	file := filepath.Join(t.TempDir(), "simulation.wasm")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-ldflags", "-s -w", "-o", file, ".")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := experimental.WithCompilationWorkers(context.Background(), runtime.GOMAXPROCS(0))
	s := &wasmSimulationRunner{ctx: ctx}
	s.runtime = wazero.NewRuntime(s.ctx)
	t.Cleanup(func() {
		if err := s.runtime.Close(s.ctx); err != nil {
			t.Error(err)
		}
	})
	wasi_snapshot_preview1.MustInstantiate(s.ctx, s.runtime)
	if s.module, err = s.runtime.CompileModule(s.ctx, code); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a simulation and returns its report and its steps. If the program panics, the test fails, with
// the last steps.
func (s *wasmSimulationRunner) run(t *testing.T,
	r wasmSimulationConfig) (report simulation.Report, steps string) {
	t.Helper()
	input, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var output, errors bytes.Buffer
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], r.Config.Seed)
	// The clocks of this configuration are counters: they advance with each call.
	config := wazero.NewModuleConfig().WithName("").WithArgs("simulation", "-test.run=^TestGuest$").
		WithEnv("GOGC", "400").WithStdin(bytes.NewReader(input)).WithStdout(&output).WithStderr(&errors).
		WithRandSource(rand.NewChaCha8(seed))
	instance, err := s.runtime.InstantiateModule(s.ctx, s.module, config)
	if instance != nil {
		defer func() { _ = instance.Close(s.ctx) }() // releases memory; the program has ended
	}
	steps, text, ok := strings.Cut(output.String(), reportMark)
	if ok {
		err = json.NewDecoder(strings.NewReader(text)).Decode(&report)
	}
	if err != nil || !ok {
		t.Fatalf("%+v: %v\n%s\n%s", r, err, lastLines(steps, 200), errors.String())
	}
	return report, steps
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
