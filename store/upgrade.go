package store

import (
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/upgrade"
)

var _ host.Upgrader = tenant{}

// Upgrades returns the steps that bring data of older formats up to date.
func (tenant) Upgrades() []host.TenantUpgrade {
	return []host.TenantUpgrade{
		{From: 1, What: "sequences of writes get a position", Run: upgrade.PlaceSequences},
		{From: 2, What: "vector indexes get codes of their vectors", Run: upgrade.CodeVectors},
	}
}

// Format is the format of the data: the one that Open found, and the current one.
type Format = host.Format

// Format returns the format of the data.
func (db *DB) Format() Format { return db.host.Format() }
