package sdktest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// dotnetWorkers is the number of cases of the .NET suite that run concurrently. Most of them wait most of
// the time.
const dotnetWorkers = 14

// TestDotnetServiceBus runs a suite of cases in .NET for queues and topics, over AMQP and over WebSockets.
// The suite is the program that MAYFLY_DOTNET_SERVICEBUS names. It takes --amqp PORT, --admin PORT,
// --workers N and --ws, and prints "ok NAME" or "FAIL NAME: why" for each case.
func TestDotnetServiceBus(t *testing.T) {
	t.Parallel()
	runnable(t, scenarioProgram{needs: "MAYFLY_DOTNET_SERVICEBUS"})
	expected := readExpectations(t, filepath.Join("upstream", "dotnet-servicebus", "expected-fail.txt"))
	for _, way := range []string{"amqp", "ws"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := startBus(t, "--memory")
			ctx, cancel := context.WithTimeout(t.Context(), busTime)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Getenv("MAYFLY_DOTNET_SERVICEBUS"), "--amqp", strconv.Itoa(b.amqp),
				"--admin", strconv.Itoa(b.plainAdmin), "--workers", strconv.Itoa(dotnetWorkers), "--"+way)
			out, err := cmd.Output()
			var ended *exec.ExitError
			if err != nil && !errors.As(err, &ended) {
				t.Fatal(err)
			}
			verdicts := dotnetVerdicts(string(out))
			if ctx.Err() != nil || len(verdicts) < 500 {
				t.Errorf("%d cases ran, not all of them: %v\n%s", len(verdicts), err, out)
			}
			judge(t, verdicts, expected)
		})
	}
}

// dotnetVerdicts parses the output of the .NET suite to a map from the names of cases to their results. If
// a name occurs twice, " again" is appended to the second one.
func dotnetVerdicts(out string) map[string]testResult {
	verdicts := map[string]testResult{}
	for line := range strings.Lines(out) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, says, _ := strings.Cut(strings.TrimSpace(rest), ": ")
		if _, twice := verdicts[name]; twice {
			name += " again"
		}
		switch word {
		case "ok":
			verdicts[name] = testResult{result: "pass"}
		case "FAIL":
			verdicts[name] = testResult{"fail", says}
		}
	}
	return verdicts
}
