package store

import "github.com/mayflydb/mayfly/query"

// Charges in RU. A point read of up to 1 KB costs 1, the unit's definition; a write of as much about five and
// a half with a dozen index entries. They are computed from the work alone, so equal requests cost the same.

const (
	chargeFailure  = 1.0
	chargeNotFound = 1.0
	chargeQuery    = 2.28 // a query's base
)

func kilobytes(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }

func chargeRead(bytes int) float64 { return 0.9 + 0.1*kilobytes(bytes) }

// chargeVersion is the charge of writing a version of an item, or of taking one away, without its index
// entries. Cosmos DB's documentation has 5 RU for 1 KB and 50 RU for 100 KB; a replace does both.
func chargeVersion(bytes int) float64 { return 4.95 + 0.45*max(0, float64(bytes)/1024-1) }

// ChargeOfEntries is the charge in RU of writing or removing so many index entries.
func ChargeOfEntries(n int) float64 { return 0.05 * float64(n) }

// chargeDeletePartition is the charge of deleting a whole partition key: one record, whatever lies below it.
const chargeDeletePartition = 4.95

// chargeRows is the charge of a page of a query, by the work that it was.
func chargeRows(s query.Stats) float64 {
	return round2(chargeQuery + 0.03*float64(s.Loaded) + 0.001*float64(s.IndexEntries) +
		0.1*float64(s.OutputBytes)/1024 + float64(s.UDFCalls))
}

func round2(c float64) float64 { return float64(int(c*100+0.5)) / 100 }
