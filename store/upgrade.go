package store

import (
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/upgrade"
)

var _ host.FormatUpgrader = dbTenantAdapter{}

// Upgrades returns the steps that bring data of older formats up to date.
func (dbTenantAdapter) Upgrades() []host.FormatUpgrade {
	return []host.FormatUpgrade{
		{From: 1, What: "sequences of writes get a position", Run: upgrade.PlaceSequences},
		{From: 2, What: "vector indexes get codes of their vectors", Run: upgrade.CodeVectors},
	}
}

// DataFormatVersions is the format of the data: the one that Open found, and the current one.
type DataFormatVersions = host.DataFormatVersions

// Format returns the format of the data.
func (db *DB) Format() DataFormatVersions { return db.host.Format() }
