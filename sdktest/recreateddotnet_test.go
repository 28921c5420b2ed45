package sdktest

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestRecreatedDotnet runs the scenario container-recreated in .NET, in gateway and in direct mode.
// MAYFLY_CSHARP names the program that compiles and runs its C# file.
func TestRecreatedDotnet(t *testing.T) {
	csharp := os.Getenv("MAYFLY_CSHARP")
	if csharp == "" {
		t.Skip("skipped: MAYFLY_CSHARP does not name a program that runs C#")
	}
	for _, mode := range []string{"Gateway", "Direct"} {
		for _, ranges := range []int{1, 5} {
			t.Run(mode+"-"+strconv.Itoa(ranges), func(t *testing.T) {
				s := start(t, "--data", t.TempDir(), "--ranges", strconv.Itoa(ranges))
				ctx, cancel := context.WithTimeout(t.Context(), runTime)
				defer cancel()
				cmd := exec.CommandContext(ctx, csharp, "dotnet/recreated.cs")
				cmd.Env = append(os.Environ(), "MAYFLY_MODE="+mode, "MAYFLY_ENDPOINT="+s.URL("https"),
					"MAYFLY_CONTROL="+control(t, s))
				out, err := cmd.CombinedOutput()
				if err != nil || strings.TrimSpace(string(out)) != "ok" {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
