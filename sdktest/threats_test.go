package sdktest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThreats compares the table of threats in docs/security.md with the tests called TestAttack...: every
// test that the table names exists, every row names one, and every such test is in the table.
func TestThreats(t *testing.T) {
	page, err := os.ReadFile("../docs/security.md")
	must(t, err)
	_, section, found := strings.Cut(string(page), "\n## Threats\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("there is no section Threats")
	}
	files, err := filepath.Glob("*_test.go")
	must(t, err)
	exist := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (TestAttack\w+)\(`).FindAllSubmatch(text, -1) {
			exist[string(m[1])] = true
		}
	}
	named, rows := map[string]bool{}, 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| threat ") {
			continue
		}
		rows++
		cells := strings.Split(strings.TrimSpace(line), " | ")
		tests := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(tests) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, m := range tests {
			if named[m[1]] = true; !exist[m[1]] {
				t.Errorf("there is no test %s", m[1])
			}
		}
	}
	for name := range exist {
		if !named[name] {
			t.Errorf("%s is not in the table", name)
		}
	}
	if rows < 15 {
		t.Errorf("%d rows", rows)
	}
}
