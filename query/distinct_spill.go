package query

import (
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/query/internal/lang"
)

// distinctRows are the values that a DISTINCT has met: themselves as long as they are few, then their hashes,
// and those in files at last.
type distinctRows struct {
	run    *run
	held   *int // bytes
	seen   lang.ValueSet
	hashed *rowHashes // nil: none is yet
	size   int        // of held, what is for this
}

// Add tells whether a value is new. It is false where the run has ended.
func (d *distinctRows) add(v doc.Value) bool {
	if d.hashed != nil {
		return d.addHash(v)
	}
	if !d.seen.Add(v) {
		return false
	}
	d.hold(len(d.seen.Key) + setEntry)
	if d.run.env.Temp != nil && d.size > d.run.LimitHeld()/4 {
		d.hashed = newRowHashes()
		for key := range d.seen.Members {
			d.hashed.rows[d.hashed.sumOf([]byte(key))] = struct{}{}
		}
		d.seen = lang.ValueSet{}
		d.shed()
	}
	return d.run.Err == nil
}

func (d *distinctRows) addHash(v doc.Value) bool {
	d.hashed.key = doc.AppendOrdered(d.hashed.key[:0], v)
	sum := d.hashed.sumOf(d.hashed.key)
	given, err := d.hashed.has(sum)
	if !d.run.spilled(err, "DISTINCT") || given {
		return false
	}
	d.hashed.rows[sum] = struct{}{}
	if d.hold(rowHashSize); rowHashSize*len(d.hashed.rows) > d.run.LimitHeld()/8 {
		d.shed()
	}
	return d.run.Err == nil
}

// shed moves the hashes in memory to a file.
func (d *distinctRows) shed() {
	d.run.spilled(d.hashed.spill(d.run.env.Temp, d.run.Spend), "DISTINCT")
	d.hold(d.hashed.size() - d.size)
}

func (d *distinctRows) hold(n int) {
	d.size += n
	d.run.Hold(d.held, n, "DISTINCT")
}

func (d *distinctRows) close() {
	if d.hashed != nil {
		d.hashed.close()
	}
}
