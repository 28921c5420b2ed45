package query_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query"
)

// These tests stand outside of the package, since the seed's package imports it.

func TestResultsWithAndWithoutIndexes(t *testing.T) {
	racetest.Sequential(t)
	query.IndexesChangeNothing(t, metamorphic.FirstSeed())
}

func TestCompilerWholeQueries(t *testing.T) { query.AskWholeQueries(t, metamorphic.FirstSeed()) }

func TestRankIgnoresExpiredDocuments(t *testing.T) {
	query.RanksOfTheLiving(t, metamorphic.FirstSeed())
}

func TestNearestByCompressedVectors(t *testing.T) {
	racetest.Sequential(t)
	query.NearestByCodes(t, metamorphic.FirstSeed())
}

func TestUnsatisfiableConditionsReturnNothing(t *testing.T) {
	query.NeverIsRight(t, metamorphic.FirstSeed())
}
