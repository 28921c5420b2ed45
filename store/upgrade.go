package store

import (
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/upgrade"
)

var _ host.FormatUpgrader = tenant{}

// Upgrades returns the steps that bring data of older formats up to date.
func (tenant) Upgrades() []host.FormatUpgrade {
	return []host.FormatUpgrade{
		{From: 1, What: "sequences of writes get a position", Run: upgrade.PlaceSequences},
		{From: 2, What: "vector indexes get codes of their vectors", Run: upgrade.CodeVectors},
	}
}

// Format is the format of the data: the one that Open found, and the current one.
type Format = host.DataFormat

// Format returns the format of the data.
func (db *DB) Format() Format { return db.host.Format() }
