package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/bench"
	"github.com/mayflydb/mayfly/internal/racetest"
)

// TestBench runs `mayfly bench` with all its sections and very few documents, and checks its JSON result.
// The command runs in its own process, because it changes the garbage collector's settings.
func TestBench(t *testing.T) {
	t.Parallel() // most of the time it waits for the disk and for the servers that it starts
	dir := filepath.Join(t.TempDir(), "work")
	var out, errs strings.Builder
	args := []string{"bench", "--docs", "1000,2000", "--seconds", "0.02", "--dir", dir,
		"--json"}
	underRace := []string{"feed", "http"} // readers side by side, and the HTTP server and its clients
	if racetest.On {
		args = append(args, "--only", strings.Join(underRace, ","))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s\n%s", err, errs.String(), out.String())
	}
	var written bench.RunResult
	if err := json.Unmarshal([]byte(out.String()), &written); err != nil {
		t.Fatal(err)
	}
	if written.About.Documents != 2000 || written.About.SyncSeconds <= 0 {
		t.Errorf("about %+v", written.About)
	}
	var sections []string
	for _, f := range written.Figures {
		sections = append(sections, f.Section)
		if !(f.Value > 0) || f.Ratio != nil && !(*f.Ratio > 0) || f.Against != nil && !(*f.Against > 0) {
			t.Errorf("%s, %s: value, against or ratio are not positive", f.Section, f.Name)
		}
		if (f.Budget == nil) != (f.Within == nil) {
			t.Errorf("%s, %s: a budget without a verdict, or the other way round", f.Section, f.Name)
		}
		if !strings.Contains(errs.String(), "  "+f.Name+" ") {
			t.Errorf("%s, %s is not in the report", f.Section, f.Name)
		}
	}
	var want []string
	for _, s := range bench.Sections() {
		if !racetest.On || slices.Contains(underRace, s.Name) {
			want = append(want, s.Name)
		}
	}
	if got := slices.Compact(sections); !slices.Equal(got, want) {
		t.Errorf("sections %v, want %v", got, want)
	}
	for _, s := range written.Shapes {
		known := s.Failure != "" || s.CPU > 0 && s.Wall > 0 && s.Pages > 0
		if !known || !strings.Contains(errs.String(), "  "+s.Name+" ") {
			t.Errorf("shape %+v", s)
		}
	}
	if racetest.On {
		return // none of these sections leaves a data set
	}
	if left := globbed(t, dir, "*"); len(left) != 1 || filepath.Base(left[0]) != "data" {
		t.Errorf("left in the folder: %v", left)
	}
}

func TestBenchInvalidArguments(t *testing.T) {
	full := t.TempDir()
	write(t, filepath.Join(full, "file"), "")
	t.Setenv("MAYFLY_DOCS", "100")
	for _, args := range [][]string{
		{"--docs", "99"}, {"--docs", "2000,1000"}, {"--shapes", "("}, {"--seconds", "0"},
		{"--seconds", "NaN"},
		{"--only", "reed"}, {"--max-drop", "0.1"}, {"--compare", filepath.Join(full, "none")},
		{"--compare", filepath.Join(full, "file")}, {"--dir", full}, {"extra"},
	} {
		if code, _, _ := mayfly(t, append([]string{"bench"}, args...)...); code != exitUsage {
			t.Errorf("%v: exit code %d, want %d", args, code, exitUsage)
		}
	}
}
