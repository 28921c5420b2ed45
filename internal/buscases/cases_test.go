package buscases

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/queue"
)

// conformanceTestCase is one row of the table of cases. via has a letter for each surface (interface for
// clients) on which the case runs in addition to the Go API: A is AMQP, R REST, M ATOM, C the API of
// documents.
type conformanceTestCase struct {
	number  int
	title   string
	via     string
	steps   func(b *caseFixture)
	alone   bool // it does not concern the engine
	options queue.Options
	skip    string // why it cannot be played here
}

// cases returns all conformance cases in the order of their numbers.
func cases() []conformanceTestCase {
	return slices.Concat(expiryCases(), scheduledCases(), lockCases(), settleCases(), idleCases(),
		documentCases(), clientCases())
}

// TestCases runs each conformance case on each of its surfaces.
func TestCases(t *testing.T) {
	t.Parallel()
	surfaces := []struct {
		letter, name string
		connect      connectFunc
	}{{"", "engine", func(*caseFixture) {}}, {"A", "amqp", connectAMQP}, {"R", "rest", connectREST},
		{"M", "atom", connectATOM}, {"C", "documents", func(*caseFixture) {}}}
	for _, c := range cases() {
		name := fmt.Sprintf("%03d-%s", c.number, strings.ReplaceAll(c.title, " ", "-"))
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait for seconds
			if c.skip != "" {
				t.Skip(c.skip)
			}
			for _, s := range surfaces {
				if strings.Contains(c.via, s.letter) && (s.letter != "" || !c.alone) {
					t.Run(s.name, func(t *testing.T) {
						t.Parallel()
						c.steps(newCaseFixture(t, c.options, s.connect))
					})
				}
			}
		})
	}
}

// TestCaseNumbers checks that the numbers of the cases are consecutive, and that each case has either steps
// or a reason why it is skipped.
func TestCaseNumbers(t *testing.T) {
	t.Parallel()
	for i, c := range cases() {
		if c.number != i+1 {
			t.Fatalf("case %d stands at place %d", c.number, i+1)
		}
		if (c.skip == "") == (c.steps == nil) {
			t.Errorf("case %d has either steps or a reason why not", c.number)
		}
	}
}
