package enginetest

import (
	"context"
	"errors"
	"testing"

	"github.com/mayflydb/mayfly/engine"
)

// ReopenableStorage is the storage of one test, such as a folder, on which engines are opened, one after the
// other.
type ReopenableStorage struct {
	// Open opens an engine over the data. It is not called again before the engine returned last has been
	// closed.
	Open func(t *testing.T) engine.Engine

	// Cut cuts the power under the open engine: the next Open finds the data as they are on disk at this
	// moment. Later work of the engine is lost; it is closed as usual. If Cut is nil, the suite does not test
	// crashes.
	Cut func(t *testing.T)
}

// Run runs the suite. fresh returns new, empty data.
func Run(t *testing.T, fresh func(t *testing.T) ReopenableStorage) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *testedEngine)
	}{
		{"Model", testModel},
		{"ReadYourWrites", testReadYourWrites},
		{"ScanWhileWriting", testScanWhileWriting},
		{"DeleteRange", testDeleteRange},
		{"BytesAreCopied", testBytesAreCopied},
		{"ErrorDiscards", testErrorDiscards},
		{"ViewIsOneSnapshot", testViewIsOneSnapshot},
		{"Getter", testGetter},
		{"Skip", testSkip},
		{"GetMany", testGetMany},
		{"GetManyOfLargeValues", testGetManyOfLargeValues},
		{"GetManyOfOwnWrites", testGetManyOfOwnWrites},
		{"GetManyUntilTheContextEnds", testGetManyUntilTheContextEnds},
		{"SurvivesReopen", testSurvivesReopen},
		{"TooLarge", testTooLarge},
		{"Enlarge", testEnlarge},
		{"EmptyKey", testEmptyKey},
		{"Scopes", testScopes},
		{"Closed", testClosed},
		{"CloseWaits", testCloseWaits},
		{"OpenIterator", testOpenIterator},

		{"NoLostUpdate", testNoLostUpdate},
		{"ScopesRunSideBySide", testScopesRunSideBySide},
		{"TransfersKeepTheSum", testTransfersKeepTheSum},
		{"PanicIsCarried", testPanicIsCarried},
		{"PanicOfAWaiter", testPanicOfAWaiter},
		{"Context", testContext},
		{"ContextWhileWaiting", testContextWhileWaiting},

		{"LSNs", testLSNs},
		{"LSNsOfOneTransaction", testLSNsOfOneTransaction},
		{"LSNsGivenBack", testLSNsGivenBack},
		{"LSNsAcrossReopen", testLSNsAcrossReopen},
		{"LSNsOfManyScopes", testLSNsOfManyScopes},
		{"LSNsInCommitOrder", testLSNsInCommitOrder},
		{"RaiseLSN", testRaiseLSN},
		{"RaiseLSNOfAUsedScope", testRaiseLSNOfAUsedScope},
		{"CorruptCeiling", testCorruptCeiling},
		{"ScopeEmptied", testScopeEmptied},
		{"ScopeDropped", testScopeDropped},
		{"Horizon", testHorizon},
		{"HorizonNeverAhead", testHorizonNeverAhead},
		{"Settle", testSettle},
		{"Positions", testPositions},
		{"PositionsOfAFailure", testPositionsOfAFailure},
		{"PositionsOfAView", testPositionsOfAView},
		{"Marks", testMarks},
		{"MarksAreNotBehind", testMarksAreNotBehind},
		{"Relax", testRelax},
		{"Time", testTime},
		{"Metrics", testMetrics},
		{"Crash", testCrash},
		{"CrashAfterEachWrite", testCrashAfterEachWrite},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &testedEngine{t: t, data: fresh(t)}
			s.open()
			t.Cleanup(s.close)
			test.run(t, s)
		})
	}
}

// testedEngine is the engine under test. Its methods end the test on an error, so they must be called on the
// test's own goroutine.
type testedEngine struct {
	t    *testing.T
	data ReopenableStorage
	engine.Engine
}

var ctx = context.Background()

func (s *testedEngine) open() {
	s.t.Helper()
	s.Engine = s.data.Open(s.t)
}

func (s *testedEngine) close() {
	s.t.Helper()
	if s.Engine == nil {
		return
	}
	e := s.Engine
	s.Engine = nil
	if err := e.Close(); err != nil && !errors.Is(err, engine.ErrClosed) {
		s.t.Errorf("Close: %v", err)
	}
}

func (s *testedEngine) reopen() {
	s.t.Helper()
	s.close()
	s.open()
}

// crash cuts the power and reopens the engine.
func (s *testedEngine) crash() {
	s.t.Helper()
	s.data.Cut(s.t)
	s.reopen()
}

// update runs fn in an Update that names the given scopes (key prefixes), and returns their positions
// afterwards. An error ends the test.
func (s *testedEngine) update(scopes []string, fn func(engine.Txn) error) []engine.LSNScopeStatus {
	s.t.Helper()
	at, err := s.Update(ctx, keys(scopes...), fn)
	if err != nil {
		s.t.Fatalf("Update: %v", err)
	}
	return at
}

// set writes pairs of keys and values.
func (s *testedEngine) set(scope string, pairs ...string) {
	s.t.Helper()
	s.update([]string{scope}, func(t engine.Txn) error {
		for i := 0; i < len(pairs); i += 2 {
			t.Set([]byte(pairs[i]), []byte(pairs[i+1]))
		}
		return nil
	})
}

// get reads a key. It returns "-" if the key is absent.
func (s *testedEngine) get(key string) (value string) {
	s.t.Helper()
	if err := s.View(ctx, func(r engine.Reader) error {
		value = read(s.t, r, key)
		return nil
	}); err != nil {
		s.t.Fatalf("View: %v", err)
	}
	return value
}

func (s *testedEngine) want(key, want string) {
	s.t.Helper()
	if got := s.get(key); got != want {
		s.t.Errorf("%q is %q, want %q", key, got, want)
	}
}

func (s *testedEngine) next(scope string) (lsn uint64) {
	s.t.Helper()
	s.update([]string{scope}, func(t engine.Txn) error {
		lsn = t.NextLSN([]byte(scope))
		t.Set([]byte(scope+"/last"), []byte{1})
		return nil
	})
	return lsn
}

func read(t *testing.T, r engine.Reader, key string) string {
	t.Helper()
	v, err := r.Get([]byte(key))
	if errors.Is(err, engine.ErrNotFound) {
		return "-"
	}
	if err != nil {
		t.Fatalf("Get %q: %v", key, err)
	}
	return string(v)
}

// scan lists the pairs of a range as "key=value". With reverse they are in descending order.
func scan(t *testing.T, r engine.Reader, rng engine.Range, reverse bool) (pairs []string) {
	t.Helper()
	it := r.Scan(rng, reverse)
	for it.Next() {
		pairs = append(pairs, string(it.Key())+"="+string(it.Value()))
	}
	if err := it.Close(); err != nil {
		t.Fatalf("Scan: %v", err)
	}
	return pairs
}

func keys(names ...string) [][]byte {
	out := make([][]byte, len(names))
	for i, n := range names {
		out[i] = []byte(n)
	}
	return out
}

func span(start, end string) engine.Range {
	r := engine.Range{Start: []byte(start)}
	if end != "" {
		r.End = []byte(end)
	}
	return r
}
