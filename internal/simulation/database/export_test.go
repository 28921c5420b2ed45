package database

// Clone returns another database with what is committed now.
func (d *Database) Clone() *Database {
	clone := New(d.o)
	clone.rows, _, _ = d.snapshot()
	return clone
}
