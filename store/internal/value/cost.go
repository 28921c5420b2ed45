package value

import "github.com/mayflydb/mayfly/query"

// Charges in RU. A point read of up to 1 KB costs 1, the unit's definition; a write of as much about five and
// a half with a dozen index entries. They are computed from the work alone, so equal requests cost the same.

// The charges that depend on nothing.
const (
	ChargeFailure  = 1.0
	ChargeNotFound = 1.0
	ChargeQuery    = 2.28 // a query's base
)

func kilobytes(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }

// ChargeRead is the charge of reading a document of so many bytes.
func ChargeRead(bytes int) float64 { return 0.9 + 0.1*kilobytes(bytes) }

// ChargeVersion is the charge of writing a version of an item, or of taking one away, without its index
// entries. Cosmos DB's documentation has 5 RU for 1 KB and 50 RU for 100 KB; a replace does both.
func ChargeVersion(bytes int) float64 { return 4.95 + 0.45*max(0, float64(bytes)/1024-1) }

// ChargeTerms is the charge of writing or removing index entries.
func ChargeTerms(n int) float64 { return 0.05 * float64(n) }

// ChargeDeletePartition is the charge of deleting a whole partition key: one record, whatever lies below it.
const ChargeDeletePartition = 4.95

// ChargeRows is the charge of a page of a query, by the work that it was.
func ChargeRows(s query.Stats) float64 {
	return RoundCharge(ChargeQuery + 0.03*float64(s.Loaded) + 0.001*float64(s.IndexEntries) +
		0.1*float64(s.OutputBytes)/1024 + float64(s.UDFCalls))
}

// RoundCharge rounds a charge to hundredths.
func RoundCharge(c float64) float64 { return float64(int(c*100+0.5)) / 100 }
