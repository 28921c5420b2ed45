package query_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/metatest"
	"github.com/mayflydb/mayfly/internal/racetest"
	"github.com/mayflydb/mayfly/query"
)

// These tests stand outside of the package, since the seed's package imports it.

func TestIndexesChangeNothing(t *testing.T) {
	racetest.Sequential(t)
	query.IndexesChangeNothing(t, metatest.FirstSeed())
}

func TestCompilerWholeQueries(t *testing.T) { query.AskWholeQueries(t, metatest.FirstSeed()) }

func TestRanksOfTheLiving(t *testing.T) { query.RanksOfTheLiving(t, metatest.FirstSeed()) }

func TestNearestByCodes(t *testing.T) {
	racetest.Sequential(t)
	query.NearestByCodes(t, metatest.FirstSeed())
}

func TestNeverIsRight(t *testing.T) { query.NeverIsRight(t, metatest.FirstSeed()) }
