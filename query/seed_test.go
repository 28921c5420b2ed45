package query_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query"
)

// These tests stand outside of the package, since the seed's package imports it.

func TestIndexesChangeNothing(t *testing.T) {
	racetest.Sequential(t)
	query.IndexesChangeNothing(t, metamorphic.FirstSeed())
}

func TestCompilerWholeQueries(t *testing.T) { query.AskWholeQueries(t, metamorphic.FirstSeed()) }

func TestRanksOfTheLiving(t *testing.T) { query.RanksOfTheLiving(t, metamorphic.FirstSeed()) }

func TestNearestByCodes(t *testing.T) {
	racetest.Sequential(t)
	query.NearestByCodes(t, metamorphic.FirstSeed())
}

func TestNeverIsRight(t *testing.T) { query.NeverIsRight(t, metamorphic.FirstSeed()) }
