//go:build long

package simulation_test

import (
	"testing"

	"github.com/mayflydb/mayfly/internal/metatest"
)

// TestCampaign runs many simulations of many kinds.
func TestCampaign(t *testing.T) {
	first := metatest.FirstSeed()
	for n := range uint64(300) {
		if check(t, varied(first+n)); t.Failed() {
			return
		}
	}
}
