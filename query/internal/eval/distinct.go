package eval

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
)

// DistinctRows is the set of values that a DISTINCT has seen: the values themselves while they are few, then
// their hashes, and finally hashes in files.
type DistinctRows struct {
	Run    *QueryRunState
	Held   *int // in bytes
	seen   lang.ValueSet
	hashed *RowHashSet // nil: the set stores the values themselves
	size   int         // the bytes of Held that this set uses
}

// Add adds a value and reports whether it is new. It returns false if the run has ended.
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

// spill moves the hashes in memory to a file.
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
