package spill_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/metamorphic"
	"github.com/mayflydb/mayfly/query/spill"
)

// These stand outside of the package, since the seed's package imports it.

func TestSorter(t *testing.T) { spill.CheckSorter(t, metamorphic.FirstSeed()) }

func TestSet(t *testing.T) { spill.CheckSet(t, metamorphic.FirstSeed()) }
