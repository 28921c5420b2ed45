package sdktest

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// expectedFailure says why a test of another project is expected to fail.
type expectedFailure struct {
	reason    string
	sometimes bool // it depends on timing: it may pass
}

var sometimes = regexp.MustCompile(`^sometimes\s+`)

// readExpectations reads a list of tests that are expected to fail. Lines that begin with # are the reason
// of the names below them, up to the next reason. "sometimes" before a name marks a test that may also
// pass.
func readExpectations(t *testing.T, file string) map[string]expectedFailure {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	list := map[string]expectedFailure{}
	reason, open := "", false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if said, comment := strings.CutPrefix(line, "#"); comment {
			if !open {
				reason = ""
			}
			reason, open = strings.TrimSpace(reason+" "+strings.TrimSpace(said)), true
			continue
		}
		open = false
		if line == "" {
			continue
		}
		name := sometimes.ReplaceAllString(line, "")
		if _, twice := list[name]; twice || reason == "" {
			t.Errorf("%s: %s stands there twice, or without a reason", file, name)
		}
		list[name] = expectedFailure{reason, name != line}
	}
	return list
}

// testResult is the result of a test of another project, and its output if it failed.
type testResult struct {
	result string // "pass", "fail" or "skip"
	says   string // of a failure
}

// judge fails the test for each result that is not expected: a failure that is not in the list expected, a
// success that the list says fails, and a name in the list that did not run. It logs the counts.
func judge(t *testing.T, verdicts map[string]testResult, expected map[string]expectedFailure) {
	t.Helper()
	counts := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(verdicts)) {
		v := verdicts[name]
		counts[v.result]++
		e, listed := expected[name]
		switch {
		case v.result == "fail" && !listed:
			t.Errorf("%s fails:\n%s", name, v.says)
		case v.result == "fail":
			t.Logf("%s fails as expected: %s", name, e.reason)
		case listed && !e.sometimes:
			t.Errorf("%s: %s, but the list says that it fails: %s", name, v.result, e.reason)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		if _, ran := verdicts[name]; !ran {
			t.Errorf("the list has %s, which did not run", name)
		}
	}
	t.Logf("%d passed, %d failed, %d skipped", counts["pass"], counts["fail"], counts["skip"])
}
