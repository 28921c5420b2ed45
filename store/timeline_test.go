package store_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayflydb/mayfly/internal/datatest"
	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// TestTimelines runs the golden test cases in testdata/timelines: whether items are visible, second by
// second, around their expiry. The results may depend neither on the reaper nor on restarts.
func TestTimelines(t *testing.T) {
	racetest.Sequential(t)
	t.Parallel()
	datatest.Walk(t, "testdata/timelines", timeline)
}

func timeline(t *testing.T, d *datatest.TestFileCommand) string {
	if d.Cmd != "timeline" {
		return d.Unknown()
	}
	steps, err := metamorphic.ParseSteps(d.Input)
	if err != nil {
		d.Fatalf("%v", err)
	}
	h := metamorphic.History{Steps: steps,
		Config: metamorphic.TestedContainerConfig{Kind: d.String("kind", metamorphic.V2),
			Ranges:  int(d.Int("ranges", 1)),
			Default: d.String("default", "off"), Unique: d.Flag("unique")}}

	want := play(d, h, onDisk(t))
	sweeps := []string{metamorphic.Never, metamorphic.Sometimes, metamorphic.Always}
	for i, sweep := range sweeps {
		for _, reopen := range []string{metamorphic.Never, metamorphic.Always} {
			if reopen == metamorphic.Always && i != len(d.Input)%len(sweeps) {
				continue // opening is what takes the time: once for each timeline, beside one of the sweeps
			}
			m := metamorphic.HistoryRunConditions{Sweep: sweep, Reopen: reopen, Ranges: h.Config.Ranges}
			got := play(d, m.Apply(h, rand.New(rand.NewPCG(1, 1))), onDisk(t))
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s: sweeps: %s, reopens: %s: the answers differ (-without +with):\n%s", d.Pos,
					sweep, reopen, diff)
			}
		}
	}
	if err := metamorphic.Run(h, onDisk(t)); err != nil {
		t.Errorf("%s: the twin has another answer: %v", d.Pos, err)
	}
	return want
}

// play performs the steps of a history and returns their results, one per line. Steps without a result are
// left out.
func play(d *datatest.TestFileCommand, h metamorphic.History, open metamorphic.SubjectOpener) string {
	sub, err := open(h.Config)
	if err != nil {
		d.Fatalf("%v", err)
	}
	var out strings.Builder
	for _, s := range h.Steps {
		answer, err := sub.Do(s)
		if err != nil {
			answer = err.Error()
		}
		if answer != "" {
			out.WriteString(s.String() + " -> " + answer + "\n")
		}
	}
	if err := sub.Close(); err != nil {
		out.WriteString(err.Error() + "\n")
	}
	return out.String()
}

// TestInvalidTTLIsNamed checks that the error for an invalid ttl contains the ttl as the client wrote it.
func TestInvalidTTLIsNamed(t *testing.T) {
	t.Parallel()
	b := newTestStore(t, "", 1)
	defer b.close()
	for _, token := range []string{"0", "-10", "null", `"60"`, "1.5", "2147483648", "true", "{}", "[]"} {
		_, _, err := b.c.Create(b.ctx, pk("x"), []byte(`{"id":"a","pk":"x","ttl":`+token+`}`),
			store.WriteOptions{})
		want := "The input ttl '" + token +
			"' is invalid. Ensure to provide a nonzero positive integer less than or equal to '2147483647', " +
			"or '-1' which means never expire."
		if e := new(fault.Error); !errors.As(err, &e) || e.Code != fault.CodeBadRequest || e.Message != want {
			t.Errorf("ttl %s: %v", token, err)
		}
	}
}
