package eval

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
)

// DistinctRows are the values that a DISTINCT has met: themselves as long as they are few, then their hashes,
// and those in files at last.
type DistinctRows struct {
	Run    *Run
	Held   *int // bytes
	seen   lang.ValueSet
	hashed *RowHashes // nil: none is yet
	size   int        // of held, what is for this
}

// Add reports whether a value is new. It is false where the run has ended.
func (d *DistinctRows) Add(v jsondoc.Value) bool {
	if d.hashed != nil {
		return d.addHash(v)
	}
	if !d.seen.Add(v) {
		return false
	}
	d.hold(len(d.seen.Key) + SetEntry)
	if d.Run.Env.Temp != nil && d.size > d.Run.LimitHeld()/4 {
		d.hashed = NewRowHashes()
		for key := range d.seen.Members {
			d.hashed.Rows[d.hashed.sumOf([]byte(key))] = struct{}{}
		}
		d.seen = lang.ValueSet{}
		d.spill()
	}
	return d.Run.Err == nil
}

func (d *DistinctRows) addHash(v jsondoc.Value) bool {
	d.hashed.key = jsondoc.AppendOrdered(d.hashed.key[:0], v)
	sum := d.hashed.sumOf(d.hashed.key)
	given, err := d.hashed.Has(sum)
	if !d.Run.Spilled(err, "DISTINCT") || given {
		return false
	}
	d.hashed.Rows[sum] = struct{}{}
	if d.hold(RowHashSize); RowHashSize*len(d.hashed.Rows) > d.Run.LimitHeld()/8 {
		d.spill()
	}
	return d.Run.Err == nil
}

// shed moves the hashes in memory to a file.
func (d *DistinctRows) spill() {
	d.Run.Spilled(d.hashed.Spill(d.Run.Env.Temp, d.Run.Spend), "DISTINCT")
	d.hold(d.hashed.Size() - d.size)
}

func (d *DistinctRows) hold(n int) {
	d.size += n
	d.Run.Hold(d.Held, n, "DISTINCT")
}

// Close removes the temporary files.
func (d *DistinctRows) Close() {
	if d.hashed != nil {
		d.hashed.Close()
	}
}
