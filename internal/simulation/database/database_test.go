package database_test

import (
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/engine/enginetest"
	"github.com/mayflydb/mayfly/internal/simulation/database"
)

// TestConformance runs the conformance suite of engines on engines of the simulated database.
func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.ReopenableStorage {
		d := database.New(database.Options{})
		return enginetest.ReopenableStorage{
			Open: func(*testing.T) engine.Engine { return d.Open("server", nil) },
			Cut:  func(*testing.T) { d = d.Clone() },
		}
	})
}
