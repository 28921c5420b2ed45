package store

// Charges in RU. A point read of up to 1 KB costs 1, the unit's definition; a write of as much about five and a
// half. They are computed from the work alone, so equal requests cost the same.

const (
	chargeFailure  = 1.0
	chargeNotFound = 1.0
	chargeQuery    = 2.28 // a query's base
)

func kilobytes(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }

func chargeRead(bytes int) float64 { return 0.9 + 0.1*kilobytes(bytes) }

func chargeWrite(bytes int, replaced bool) float64 {
	c := 4.95 + 0.34*kilobytes(bytes)
	if replaced {
		c += 4.95
	}
	return round2(c)
}

func chargeDelete(bytes int) float64 { return round2(4.95 + 0.34*kilobytes(bytes)) }

// chargePage is the charge of a page that looked at so many items and bytes.
func chargePage(items, bytes int) float64 {
	return round2(chargeQuery + 0.03*float64(items) + 0.02*float64(bytes)/1024)
}

func round2(c float64) float64 { return float64(int(c*100+0.5)) / 100 }
