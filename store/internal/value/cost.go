package value

import "github.com/mayflydb/mayfly/query"

// Charges are in RU. A point read of up to 1 KB costs 1, which is the definition of the unit. A write of
// 1 KB with a dozen index entries costs about 5.5. A charge depends only on the work, so equal requests
// cost the same.

// Constant charges, in RU.
const (
	ChargeFailure  = 1.0
	ChargeNotFound = 1.0
	ChargeQuery    = 2.28 // the base charge of a query
)

func kilobytes(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }

// ChargeRead returns the charge of reading a document of a size in bytes.
func ChargeRead(bytes int) float64 { return 0.9 + 0.1*kilobytes(bytes) }

// ChargeVersion returns the charge of writing or removing one version of an item of a size in bytes,
// without its index entries. A replace does both. Cosmos DB's documentation gives 5 RU for 1 KB and 50 RU
// for 100 KB.
func ChargeVersion(bytes int) float64 { return 4.95 + 0.45*max(0, float64(bytes)/1024-1) }

// ChargeTerms returns the charge of writing or removing n index entries.
func ChargeTerms(n int) float64 { return 0.05 * float64(n) }

// ChargeDeletePartition is the charge of deleting a whole partition key: one record is written, however
// many items it has.
const ChargeDeletePartition = 4.95

// ChargeRows returns the charge of a page of a query, computed from the work that it needed.
func ChargeRows(s query.Stats) float64 {
	return RoundCharge(ChargeQuery + 0.03*float64(s.Loaded) + 0.001*float64(s.IndexEntries) +
		0.1*float64(s.OutputBytes)/1024 + float64(s.UDFCalls))
}

// RoundCharge rounds a charge to hundredths.
func RoundCharge(c float64) float64 { return float64(int(c*100+0.5)) / 100 }
