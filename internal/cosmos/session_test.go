package cosmos

import (
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store"
)

func TestConsistencyLevels(t *testing.T) {
	for account, allowed := range map[Consistency]string{
		Strong:   "Strong BoundedStaleness Bounded Session ConsistentPrefix Eventual",
		Session:  "Session session ConsistentPrefix Eventual",
		Eventual: "Eventual",
	} {
		for _, name := range append(levels[:], "Bounded") {
			want := slices.Contains(strings.Fields(allowed), name)
			if got := account.Allows(name) == nil; got != want {
				t.Errorf("account %d, %s: %v", account, name, got)
			}
		}
	}
}

func TestSessionTokens(t *testing.T) {
	for token, want := range map[string][]store.SessionTokenEntry{
		"0:-1#12":                  {{Range: "0", LSN: 12, Version: -1}},
		"0:1#12#3=9#4=10":          {{Range: "0", LSN: 12, Version: 1}},
		"0:-1#12,1:-1#0":           {{Range: "0", LSN: 12, Version: -1}, {Range: "1", Version: -1}},
		" 0:-1#12 , 1:-1#3,":       {{Range: "0", LSN: 12, Version: -1}, {Range: "1", LSN: 3, Version: -1}},
		"HpxDAIt3MtQ=,0:-1#5":      {{Range: "0", LSN: 5, Version: -1}},
		"7:42":                     {{Range: "7", LSN: 42}},
		"0:-1#-1":                  {{Range: "0", Version: -1}},
		"0:-1#9223372036854775807": {{Range: "0", LSN: 1<<63 - 1, Version: -1}},
	} {
		if got, err := ParseSessionToken(token); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", token, got, err)
		}
	}
}

func FuzzSessionToken(f *testing.F) {
	f.Add("0:-1#12#3=9,1:5")
	f.Fuzz(func(t *testing.T, token string) {
		positions, err := ParseSessionToken(token)
		if w, defect := Classify(err); err != nil && (defect || w.Status != 400) {
			t.Fatalf("%q: %v", token, err)
		}
		if len(positions) > strings.Count(token, ":") {
			t.Fatalf("%q: %v", token, positions)
		}
	})
}
