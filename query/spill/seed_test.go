package spill_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/metatest"
	"github.com/mayflydb/mayfly/query/spill"
)

// These stand outside of the package, since the seed's package imports it.

func TestSorter(t *testing.T) { spill.CheckSorter(t, metatest.FirstSeed()) }

func TestSet(t *testing.T) { spill.CheckSet(t, metatest.FirstSeed()) }
